// Package simulate is the command `shedcurve sim`: it runs scenarios of package
// sim and prints what came out, as a table or as JSON, beside what the best
// fixed limit would have reached.
//
//	go run ./examples/shedcurve sim -scenario admission/sim/testdata/train -oracle
//
// Scenarios run on all cores, each run on one.
package simulate
