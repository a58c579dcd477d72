// # From a symptom to a line of the config
//
// Each with what to look at in [Stats] (or on the debug page), and a config that changes
// one thing: the names are examples, the rest of the file stays as it is. None is to be
// believed before it was tried, see below.
//
// p99 is too high while nothing is shed. Latency near Baseline, and Wait high: requests wait
// for slots, at most for a third of their deadlines. Let them wait less:
//
//	lanes: {read: {queue: {law: tight}}}
//
// Latency well above Baseline, and LimitWhy "hold: the limit does not bind": the back end is
// slow by itself, and no limit helps. Where the limit binds, requests crowd it: bound it.
//
//	lanes: {read: {limit: {max: 60}}}
//
// t1 is shed at twice the capacity. Tiers[1].Shed says for which reason. For priority: t0 and
// t1 alone are more than the lane can do, mostly since too much is called t1; Threshold shows
// where shedding begins. Name the callers who can wait:
//
//	priorities: {callers: {checkout: t1, web: t2, "batch-*": t5}}
//
// For queue-timeout or evicted: t1 waits behind its like, with little time. "pid" keeps the queue
// shorter by refusing more of the others at the gate:
//
//	lanes: {read: {gate: {law: pid}}}
//
// All tiers fare alike. They are one tier: nobody says what he is, and all is t3. Set
// Request.Priority, or the callers as above.
//
// The limit flaps. LimitWhy goes from "grow: faster than the baseline allows" to "cut: slower than the
// baseline allows" and back within seconds: two kinds of work share a lane, and each takes the other's
// time for its own. Part them, or hold the limit within what you know:
//
//	lanes: {default: {}, report: {limit: {max: 8}, deadline: 30s}}
//	lanes: {default: {limit: {min: 16, max: 64}}}
//
// The limit stays at Min. "cut: slower than the baseline allows" for minutes: a downstream has become
// slower for good, and the floor is too low to find out. "rest: failing at the floor": most that runs
// fails or is late, which is the back end's matter; a larger limit would not mend it.
//
//	lanes: {default: {limit: {min: 20}}}
//
// A tenant is shed though the service is idle. Reason tenant-cap: a rule says so, see Rules. Let it
// be generous while there is room, and hard when there is none; or first only count, with mode shadow:
//
//	scorecard: {rules: [{name: each tenant, match: "tenant:*", cap: 50%, under_pressure: 10%}]}
//	scorecard: {rules: [{name: each tenant, match: "tenant:*", cap: 10%, mode: shadow}]}
//
// With a cap in per cent look at the limit too: one tenant alone, who may have half of it or less,
// never makes it bind, so that it stays where it began. Let it begin higher:
//
//	lanes: {default: {limit: {initial: 64}}}
//
// Reason keyed, with a guard of kind rate: it knows no idle. Raise it, or use a cap.
//
//	regulators: {rate: {kind: rate, limit: 400, by: tenant}}
//
// Reason priority though slots are free: Binding names a signal that is above its setpoint. Read
// it in Signals; with its Terms.I high and its pressure low it is on its way back.
//
//	regulators: {memory: {kind: heap, limit: 1GiB, setpoint: 90%}}
//
// Many die in the queue (queue-timeout, evicted), and callers would rather hear no at once.
//
//	lanes: {read: {queue: {capacity: 16}, gate: {law: pid}}}
//
// Reason deadline while all is well: callers bring less time than Median, or none is left when they
// arrive. That is theirs to change. If they bring none at all, the lane says what they have:
//
//	lanes: {write: {deadline: 2s}}
//
// A change of the file does nothing. Config.Err says why it was refused, and the log once,
// with line and column.
//
// # What happens when
//
// The figures are what this repository's tests print, in virtual time; the command
// is below. Those of TestLongRuns are for the limit alone, without a gate. A real
// service is noisier.
//
// Cold start. The limit is 8, or 20 with laws other than octave, and grows window by window while it binds. Callers
// wait up to a third of their deadlines meanwhile; nobody is shed for being early.
// A pool of 400 servers of 200 ms that begins at three times its capacity gives
// 92 % of what it could over the first minute, one of 8 servers of 10 ms nearly
// all of it (TestLongRuns).
//
// Step into overload. The queue takes it for as long as its allowances are; then
// it loses somebody, the gate begins, and within a second of the step its ratio is
// steady, at two to ten times the capacity alike (law "ff", TestRatioStatic). Until
// then the losses are queue-timeout and evicted, afterwards mostly priority. The
// order of tiers is strict: with t0 at 0.9 of the capacity and t3 at 0.5, all of
// 5,400 t0 were served and 605 of 3,000 t3; with t0 at twice the capacity, half of
// the t0 and 2 of 3,000 t3 (TestTiersUnderOverload).
//
// Half of the capacity gone. Service times rise, the limit is cut until they do
// not, and the gate follows the throughput. When 50 servers at twice their capacity
// become 25, the limit is at 30 from 61 in the mean, and 20 s on they are at 99 %
// of what they can do; 10 s after the others return at the old limit again. Four
// that become two are at 94 %, where the four were at 93 % (TestLaneFindsCapacity).
//
// A downstream becomes slower, with as many at once as before. More slots are
// needed, not fewer, and only a probe can tell. With a load of 0.6 and a downstream
// four times slower after half a minute, 95 % of two minutes' requests are answered
// in time (TestLongRuns). Ten times slower and overloaded besides, the law
// first cuts the limit, but half a minute on it is above the 40 servers there are
// (TestSlowerBackEndIsNotStarved). With a limit that stays at Min, "cut: slower than the
// baseline allows", and a downstream you know to be slow, raise Min or pin.
//
// Stall. Nothing comes out, so the law learns from requests that run past their
// deadlines: the limit goes down, then the lane rests. Without any deadline, of the
// callers or of the lane, it sees nothing and the limit stays. Waiters expire, hints grow to
// ten seconds. After 20 s of stall 81 % of two minutes' requests were in time,
// where 83 % could be (TestLongRuns).
//
// Collapse: a back end that does less the more it is asked, by contention or
// retries. The tolerance keeps the limit near the peak: 16 cores at twice their
// capacity gave 99 % of it over ten minutes, the limit between 7 and 32
// (TestLongRuns). When everything fails, the limit goes from 50 to a floor of 5 in
// a second and a half, and is back at 40 in some three seconds after
// (TestB09LimitMovesWhenEverythingIsDropped). A retry storm ends with its cause:
// 500 clients had their goodput back in the very second (TestRetryStormEnds).
//
// Idle. Nothing moves: no requests, no decision. The limit is still there when they
// come back, what was half measured is not.
//
// Reload. [Controller.Apply] changes all or nothing. Who runs and who waits stays,
// and so do the limit and what its law has learned, the gate's ratio, and all
// counters. New bounds hold at once. Another law starts from the limit there is,
// also after Fixed, and learns anew. A lane that is gone lets its requests
// end. Regulators cannot be changed. A limit that a new config moves is not told
// to the hook.
//
//	go test ./admission/... -v -run 'LongRuns|RatioStatic|TiersUnder|FindsCapacity|SlowerBackEnd|B09|RetryStorm'
//
// # When to change what
//
// Deadline of a lane: set it when callers bring none, and whenever the limit is
// pinned or law aimd, which know no baseline: a request without a deadline is then
// taken for one of a second. It sets how long such requests wait, when one that
// runs counts as overload, and the limit's tolerance; it cancels nothing.
//
// Fixed: pin the limit when the back end has a hard bound of its own, such as a
// connection pool, or when the law is plainly wrong and it is night. Little's
// law gives the number: throughput wanted times the service time. A pinned limit
// follows nothing: 20 slots missed 4 % of the goodput in the median of 20
// scenarios, and 90 % in the worst. Min and Max bound a limit that still finds
// itself; prefer them where they are enough.
//
// More lanes: when requests of one lane differ by ten times and more in service
// time. One baseline cannot fit both: the law's largest regrets are of this kind,
// see package admission/sim. Give slow operations a lane of their own.
//
// Law: the others are there for those who know them from elsewhere. Regret, the
// goodput missed against the best fixed limit, over 60 scenarios (octave was
// designed with them at hand): octave 5 % in the median and 7 % in the mean,
// vegas 9 and 19, gradient2 9 and 21, aimd 30 and 29; see package admission/sim for
// the command. aimd needs a back end that refuses or times out; gradient2 takes standing overload for normal in
// minutes; vegas moves a large limit slowly.
//
// Gate: "pid" when callers would rather hear no at once than wait in vain. Of all
// attempts 8 % die in the queue then, 12 % with "ff" and 46 % with "off"; "ff"
// serves 0.7 % less than "off", and "pid" 0.4 % less than "ff" (see
// [pid.GateConfig]). "off" for a lane where the queue should decide alone, or only
// signals: most is served, and who is refused has waited.
//
// Queue.Law "tight" when those who are served must be fresh and retries even, for
// some points of goodput in bursts; "codel" for fixed times whatever the deadlines.
//
// # How to try a change
//
// Simulate it: describe the back end (servers, service time) as a scenario, or let a load test of
// it write one, or record its requests (see package admission/sim); and run the file there is and the
// new one on the same requests. Exit status 1 guards a requirement in your own CI.
//
//	go run ./examples/shedcurve sim -scenario FILE -config now.yaml -config new.yaml -out FOLDER
//	go run ./examples/shedcurve sim -scenario FILE -config new.yaml -require 'goodput>=0.95 t1>=99% p99<=50ms'
//
// Then [Shadow], a dry run on real traffic: everything runs at once, and
// Tiers[t].Shadow counts what would have been shed. While the service is not
// overloaded that should be next to nothing, and tells what rules and deadlines would
// do. In overload nobody is kept from the back end; the lane goes on at the pace at
// which that gets anything done at all, and the counts are a forecast as far as it
// would get no more done of fewer. In front of 8 workers shadow named 60,825 requests
// of 91,295 at three times the capacity where Enforce shed 61,037, and from 1.2 to 5
// times the capacity 0.95 to 1.00 of what was shed, no tier off by more than 3 % of
// all; with a pinned limit 0.89 at 1.2 times, and 4 % (TestShadowForecast). It names
// too many where a back end does less the more it is given, 1.3 times as many if 8
// cores are shared by all who came, or works on for callers who have left, 1.5 times;
// and hardly anybody where the limit is pinned below what the back end bears
// (TestShadowIsNoForecast). What signals ask for is no forecast either, while their
// pressure does not follow. A lane, a rule and a regulator can be in shadow alone. Then
// [Enforce] on one replica, then on all.
package admission
