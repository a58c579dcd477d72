// Command peers measures Spillway side by side with the limiters and shedders that Go
// programs use today: what a decision costs, and what becomes of a service that is
// offered more than it can do.
//
//	go run -C examples/peers . -quick -out .
//
// prints the comparison, and writes it as Markdown and as a picture into -out. It is a
// module of its own, so that what the peers depend on reaches nobody else.
//
// # How it is fair
//
// Every peer is behind one interface, meets the same requests (same seed, same arrivals,
// same work) and guards the same back end. It is set up as its own documentation
// recommends, which each adapter cites. Where that leaves a number to the user, it is
// given the right one: the best static limit for this back end at twice its capacity,
// found by a sweep, or the back end's capacity. Users do not know that number; the rows
// that were given it say so. Peers that look at the machine's CPU usage see the made-up back end's
// utilisation in its place, and before the real service that of its one core. What a peer
// cannot do is left empty.
//
// # How it is measured
//
// The cost of a decision is measured in real time, medians of five. The shed curves of
// three made-up back ends, the step, the tiers and the tenants are in virtual time: each
// point in a process of its own, within a bubble of testing/synctest, in which the peer's
// own clocks and goroutines run as they are, but no machine noise reaches the result.
//
// The last curve is that of a real service, package orders of shedcurve, over HTTP and in
// real time: every peer is the same middleware before it, in a process of its own with one
// core, and keeps what it learns from the lightest load to the heaviest. Peers take turns,
// without -quick twice, the second time in the opposite order. A shared machine has another
// speed every few seconds: as in shedcurve, a gauge in each service tells it, goodput is
// a share of what the machine could do then, and a load of another speed is repeated. What
// noise is left is shown beside the goodputs.
package main
