// Package sim runs a lane of package admission in virtual time: a scenario
// goes in, a shed curve comes out. The decisions are those of production, since
// the same pure core makes them; only clock, clients and back end are made up.
//
// A scenario is a back end of one or more stations, a load of open-loop
// arrivals and closed-loop clients, and what clients do when they are refused
// or kept waiting. Its JSON format is described in testdata/README.md. A run is
// deterministic: one goroutine, seeded numbers, events in a fixed order. Every
// request draws its work from a stream of its own, so two runs of one scenario
// with different limits meet the same requests, and their differences are
// those of the limits.
//
//	s, err := sim.Load("admission/sim/testdata/train/01-mgk50-exp-step2.json")
//	if err != nil { … }
//	report, err := sim.Run(admission.Config{}, s)
//
// [Run] is the whole lane: gate, queue and limit. Front [Lab] is the limit alone
// behind a plain queue, for comparing laws of the limit. [Front.Sweep] tries
// fixed limits, the best of which is the mark for any law: regret is the share
// of its goodput that a law misses.
//
// What is not simulated: the scorecard, regulators and stages of a config, its
// other lanes, costs above one, and the time a decision takes.
package sim
