// Package simulate is the command `shedcurve sim`: it runs scenarios of package
// sim and prints what came out, as a table or as JSON, beside what the best
// fixed limit would have reached.
//
//	go run ./examples/shedcurve sim -scenario admission/sim/testdata/train -oracle
//
// With -law it runs another law of the limit, or one of those that others have
// published; -law all runs them all and prints how their regrets are spread:
//
//	go run ./examples/shedcurve sim -law all -front lab -scenario admission/sim/testdata/train
//
// Scenarios run on all cores, each run on one.
package simulate
