// Package simulate is the command `shedcurve sim`: it runs scenarios of package
// sim and prints what came out, as a table or as JSON, beside what the best
// fixed limit would have reached.
//
//	go run ./examples/shedcurve sim -scenario admission/sim/testdata/train -oracle
//
// Several configs meet the same requests, and are drawn side by side with -out. With
// -require the exit status is 1 unless each of them meets every term in every scenario, so
// that a CI can guard a change of a config; -help says what the names mean:
//
//	go run ./examples/shedcurve sim -scenario FILE -config now.yaml -config new.yaml -out FOLDER
//	go run ./examples/shedcurve sim -scenario FILE -config new.yaml -require 'goodput>=0.95 t1>=99% p99<=50ms'
//
// Goodput is there a share of what could have been answered, not of what was offered: a
// config cannot make a back end faster, and at twice the capacity half is all there is. A scenario
// without overload requires the same of it, to answer everybody. One lane is simulated at a
// time: a config that has none of the scenario's name, or "default", needs -lane.
//
// The load test writes its service as a scenario, made from its capacity, the service times of
// its tiers and the cost of a refusal; -against lays what was measured beside what is simulated:
//
//	go run ./examples/shedcurve
//	go run ./examples/shedcurve sim -scenario shedcurve.scenario.json -against shedcurve.json -out FOLDER
//
// testdata has such a pair, measured on a shared machine: at each load they agree within ten
// per cent of the capacity (TestMeasuredAndSimulatedAgree). Without Spillway a load of just the
// capacity may be served or collapse, in a measurement as in a simulation; nobody should compare there.
//
// With -law it runs another law of the limit, or one of those that others have
// published; -law all runs them all and prints how their regrets are spread:
//
//	go run ./examples/shedcurve sim -law all -front lab -scenario admission/sim/testdata/train
//
// Scenarios run on all cores, each run on one.
package simulate
