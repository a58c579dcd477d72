// Package core is the pure state machine of one lane: arrive, leave, release,
// tick. It has no clock, lock, goroutine, randomness or IO, so that production,
// the simulator and the tests run the very same decisions. Time is a Duration
// since an epoch that its owner chose; chance comes in as a number.
package core
