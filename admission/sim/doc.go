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
// # Recorded requests
//
// In place of a load, a scenario may have the log of a real one, which [Load] reads
// from a CSV file, see [ParseLog]. Its requests come when they came, whatever becomes of
// those before them, each with its own service time. testdata/log has one, with a back
// end of two servers; it is made by
//
//	go test ./admission/sim -run TestCommittedLog -update
//
// An access log has most of what is needed. nginx writes one that needs no more than a header
// and the start in place of the end, with the header's time_s and service_time_s in seconds:
//
//	log_format spillway '$msec,$upstream_response_time,$http_x_tier,$http_x_tenant';
//	(echo time_s,service_time_s,tier,tenant,deadline_ms
//	 awk -F, '$2 != "-" { printf "%.3f,%s,%s,%s,500\n", $1-$2, $2, $3, $4 }' access.log) >monday.csv
//
// Take it from calm hours and play it faster, by dividing the times: a service time measured
// while requests waited for each other inside the service is too long, and the back end of
// the scenario would add the wait a second time.
//
// # What a run is
//
// [Run] is the whole lane: gate, queue and limit. Front [Lab] is the limit alone
// behind a plain queue, for comparing laws of the limit. [Front.Sweep] tries
// fixed limits, the best of which is the mark for any law: regret is the share
// of its goodput that a law misses. [Front.RunLaw] runs a law of your own.
//
// # Laws compared
//
// Regret in percent of the laws of package pid and of those of others (package
// peers) at their published constants, four runs of each scenario:
//
//	             train, 20 scenarios    valid, 60 scenarios
//	law          median  mean  worst    median  mean  worst
//	octave          1.3   1.5      5       4.6   7.2     57
//	gradient2       2.1  13.4     81       9.2  21.2     92
//	vegas           3.4  13.1     70       8.6  19.2     92
//	aimd           29.7  25.1     52      29.6  28.8     77
//	cinnamon        4.0  10.3     70      10.5  19.1    100
//	envoy           3.8   7.1     27      23.7  29.5     85
//	failsafe        5.6  20.4     84      17.9  27.7    100
//	static20        3.7  24.1     90      19.6  32.3    100
//
// It is the output, rounded, of
//
//	go run ./examples/shedcurve sim -law all -front lab -scenario admission/sim/testdata/train
//
// and of the same with valid, some minutes on two cores. Those of package pid run
// between 1 and 4,000 slots, the peers within their own bounds; what their authors
// left open is guessed, see the comments there. Octave was designed with these
// scenarios at hand, the others were not. Its worst, v24, is bimodal work whose
// best fixed limit lets long requests pile up, which pays only because the
// scenario ends.
//
// # What is not simulated
//
// The scorecard, regulators and stages of a config, its lanes but for the scenario's, costs
// above one, and the time a decision takes.
package sim
