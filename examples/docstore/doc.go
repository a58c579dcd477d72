// Command docstore is a key-value node, and a comparison of two ways to keep its follower from falling behind.
//
// A leader and a follower are processes of their own on loopback. Clients write to the leader and read from it; the
// follower applies the leader's log as fast as its disk allows, which is less while its background sweep checks all
// values. How many entries it is behind, the lag, must keep within a bound: those are the writes that are lost when the
// leader is. No queue or processor of the leader shows that lag: to the leader all is well.
//
//	go run ./examples/docstore             # a node under load, with Spillway; a line every second
//	go run ./examples/docstore -compare    # the same load on a token bucket and on Spillway, side by side
//
// The bucket is the usual means: golang.org/x/time/rate in front of the writes, which wait for their turn (Wait) as
// long as their clients do, less a quarter of a second for the write itself. Its rate is static, so it must be low
// enough for the follower at its slowest. -compare tries five rates and takes the one that serves most of those that
// kept the lag within its bound.
//
// Spillway has the lag brought in as a signal of its own (admission.WithSignal, see lag.go), bound to the lane of writes:
// the lane sheds, least important first, just as much as the follower needs at that time.
//
// # What it comes to
//
// Medians of three runs of -compare on two cores (seeds 1 to 3), 1,275 requests/s offered; the follower applies 1,200
// writes a second, and 300 while it sweeps, which is half of the time:
//
//	                          token-bucket  spillway
//	requests served, per s             457       775    +70 %
//	p99 of writes, ms                3,764         9   -100 %
//	peak goroutines                  1,603        79    -95 %
//	peak heap, MB                     52.5       3.8    -93 %
//	lag, standard deviation            114        72    -37 %
//	lag, peak (bound 400)              350       230    -42 %
//	writes of t0, t1 shed             67 %       0 %
//
// Uber tells of the same step on its databases +80 % requests served, -70 % p99, -93 % goroutines and -60 % heap
// (https://www.uber.com/blog/from-static-rate-limiting-to-intelligent-load-management): ours gains less in requests
// served and as much or more in the rest, the p99 above all by how long clients wait for the bucket here.
//
// The bucket's p99, goroutines and heap are those of writes that wait: a bucket that refuses at once would have
// less of each and serve no more. Its 384 writes/s are the best of five rates; 400 would be about the most that the
// bound allows. What is gained in served requests is what the follower can do while it does not sweep: with
// -sweep=false, or at a pace that never changes, a bucket set to that pace serves as much as the loop does.
//
// # The store
//
// Each replica is one SQLite file (modernc.org/sqlite, in WAL mode), which the load test shedcurve uses too. Pebble
// would be closer to what such nodes are built on, but neither arm is limited by the leader's store, which takes in a
// thousand small writes a second at a fraction of a core, and the follower's disk is what is made scarce
// here. So the simpler store, that needs no further dependencies, does. Disk time is a budget of pages per second,
// as a volume with provisioned IO has it; on it log and sweep take turns.
package main
