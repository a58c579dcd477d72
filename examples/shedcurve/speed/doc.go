// Package speed tells how fast the machine is while something is measured on it: a shared one may be half as fast for
// seconds at a time.
//
// A [Gauge] in the process that is measured runs a small fixed statement ten times a second; how long that takes is the
// speed. A [Speedometer] in the process that measures compares it with the speed at which the capacity was measured, and
// keeps of a load the slices in which they were alike.
package speed
