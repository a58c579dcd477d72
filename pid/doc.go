// Package pid holds the control laws of Spillway: a PID controller fit for an
// actuator with bounds ([Controller]); the inflight limit ([Limit]), by default
// [Octave], which is built on it; and the gate's shed ratio ([ShedRatio]).
//
// Other known laws of the limit, AIMD, Gradient2 and Vegas, can be chosen in
// octave's place, see [LimitConfig]. Those of the ratio are "ff", fed forward from
// measured rates, "pid", the published loop on the controller, and "off", see
// [GateConfig]. Package admission explains to an operator what they do when.
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
