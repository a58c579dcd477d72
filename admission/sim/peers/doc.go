// Package peers holds limits of the inflight that others have published, for
// comparison in simulation: what a law of package pid reaches is to be seen
// beside what is in use elsewhere. It is no part of what a service links; those
// whose behaviour a user may want there (AIMD, Gradient2, Vegas) are in package
// pid.
//
// They are written after the published descriptions, at the published defaults,
// bounds included; where a description leaves something open the law's comment
// says what was guessed. All are pure, as every [pid.Limit] is. They assume a
// clock that goes forward and samples as they come in a simulation: unlike the
// laws of package pid they are not hardened against anything else.
package peers
