// Command shedcurve loads a real service with and without Spillway and draws what became of the requests: the shed curve.
//
//	go run ./examples/shedcurve
//
// starts the service of package orders twice as child processes (arm "off": plain; arm "on": behind Spillway; the
// same handler and pool otherwise), measures the plain one's capacity, offers both from half to ten times that,
// and prints a table and writes shedcurve.html, .svg, .csv and .json, and the service as a scenario for the
// simulator, shedcurve.scenario.json (not with -quick). The flag -help lists what can be changed;
// with -grpc the service speaks gRPC instead of HTTP; with -target it loads a service that is already running, and
//
//	go run ./examples/shedcurve serve -addr 127.0.0.1:8080 -spillway on
//
// starts the service alone, for other load generators; -config has it follow a config file, which can be changed
// meanwhile. The subcommand watch runs everything at once until it is ended: the service under loads that come and
// go, a Prometheus that scrapes it with the rules of package monitoring, and the debug page. The subcommand noisy
// measures what one tenant that asks for ten times its share does to the others while the service is not overloaded;
// limits measures how near the tuner comes to the best of several pinned limits at twice the capacity, from a cold
// start and after that; and sim runs scenarios in virtual time, see package simulate.
//
// A shared machine may be half as fast for seconds at a time, so each child runs a small fixed statement ten times a
// second, and how long that takes is the machine's speed. The capacity is measured at one speed, the reference: the
// throughput at any other is scaled to it, and goodput is shown as a share of the capacity at the speed that the
// machine had then. Of each load, on both arms alike, the half-seconds count in which the speed was within 30 % of
// the reference; a load that keeps less than half of its time is repeated, and marked invalid if that does not help.
//
// Each child has one core (GOMAXPROCS=1) and so has the generator. At every load the first part of the time
// is offered and not counted: the curve shows the steady state.
package main
