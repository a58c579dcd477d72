// Package pid holds the control laws of Spillway: a PID controller fit for an
// actuator with bounds, and what is built on it, the inflight limit (octave.go)
// and the shed ratio (ratio.go). Other known laws of the limit, AIMD, Gradient2
// and Vegas, can be chosen in its place (aimd.go, gradient2.go, vegas.go).
//
// Each is a pure law: state, measurements and elapsed time go in, a number
// comes out. None starts a goroutine, reads a clock, draws a random number or
// takes a lock, so the simulator, the tests and a running service compute the
// same decisions from the same inputs. Nothing here is safe for concurrent use;
// whoever owns a law has a lock already.
//
// The controller follows Åström and Hägglund, "Advanced PID Control" (ISA,
// 2006), and Åström and Murray, "Feedback Systems" (2nd edition, Princeton,
// 2021), chapter 11.
package pid
