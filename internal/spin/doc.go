// Package spin has a lock for short critical sections that many goroutines want
// at once.
//
// A sync.Mutex spins only while no other goroutine is ready to run. Under a flood there
// always is one, so whoever finds it locked goes to sleep, for a section of some
// fifty nanoseconds, and once somebody has slept for a millisecond the lock goes from
// hand to hand, each time with a wake-up between. 1,024 goroutines on two processors then
// took 2.2 times as long for a request as one alone, with this lock 1.3 times.
package spin
