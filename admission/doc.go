// Package admission keeps a service at its best throughput when it is asked
// for more than it can do. For every request a [Controller] decides: run now,
// wait a little, or be shed, by priority, by tenant, and by whatever signal
// the user brings.
//
//	ctrl, err := admission.New(admission.Config{})
//	…
//	ticket, err := ctrl.Admit(ctx, admission.Request{Tenant: "acme"})
//	if err != nil {
//		return err // errors.Is(err, admission.ErrShed): tell the caller to come back later
//	}
//	defer ticket.Release(admission.Success)
//
// Most services use it through packages httpmw and grpcmw and never call Admit.
//
// # A request's way
//
//	request -> exempt? -> dead on arrival? -> scorecard -> keyed signals, stages, guards -> gate -> lane: limit, queue -> run
//	                                                                                             ^             |
//	                                          signals -> pressure -> PID -> shed ratio (max) ----+   release(outcome, service time)
//	                                                                                                           -> limit, histograms
//
// Cheapest and most particular first: a tenant over its cap neither waits nor
// takes a place from others.
//
//   - A request without time left, or with less than such a request now takes,
//     is refused at once (reason deadline).
//   - The scorecard holds the caps that people set, per tenant, caller or any
//     tag, whether or not the service is loaded (tenant-cap).
//   - Keyed signals shed single tenants, callers or keys that are too much for
//     something of the user's, and nobody else (keyed).
//   - Stages are the user's own decisions (stage); guards hold what must not be
//     passed even for an instant (regulator, or keyed where they go by an actor).
//   - The gate sheds the least important share of what is offered when the
//     lane's queue keeps losing, or when a signal says so (priority).
//   - The lane gives out slots under an inflight limit that finds itself.
//     Without a free slot the request waits, best tier first, newest first
//     while a standing queue exists, for about a third of its remaining deadline
//     (queue-timeout, queue-full, evicted).
//
// Whoever is refused gets a [*ShedError] with the reason and a hint when to
// try again; whoever leaves gets his own context's cause. The laws behind limit,
// gate and queue are explained below, after what to look at.
//
// # The loop
//
// One goroutine per controller ticks every 50 ms while there is work. A lane
// without any for 15 s sleeps until the next request: what Stats shows of it is
// then that of its last tick. A tick moves each lane's limit by the law of
// [pid.Octave] (others can be chosen, see [LimitConfig], or brought, see
// [WithLimit]) and, every 100 ms, the gate's shed ratio by [pid.ShedRatio].
// All decisions are those of a pure state machine that knows neither clock nor
// lock; this package is the shell around it: one short lock per lane, a
// clock, and the waiting.
//
// # What to look at
//
// [Controller.Explain] tells of one request what would happen to it now, step by
// step, and takes nothing. [Controller.Stats] explains the moment, [Controller.Recent]
// the last minutes; package debug makes a page of all three. Look in this order;
// counters only grow, so compare two snapshots.
//
//   - Mode, of the whole and of each lane. In [Shadow] nobody is shed, in [Off]
//     nothing is counted. Config.Err: the last change of the config was not put in
//     force, and why.
//   - Who is refused, and why: Tiers[t].Shed by [Reason] of each [LaneStats]
//     (Shadow instead of Shed where it was only counted). The reason says which
//     of the following to read. Early is how many of them were turned away before
//     they had been read, see [Controller.Precheck]. Left counts callers that went while they waited.
//   - Reason priority: ShedRatio, Threshold and Binding. With Binding "queue" the
//     lane is asked for more than it can do: compare Arrivals and Throughput.
//     Another name is that of a signal above its setpoint: see Signals. Threshold
//     is the tier and cohort where shedding begins.
//   - Reasons queue-timeout, evicted, queue-full: no slot came free in time.
//     Inflight at Limit: read LimitWhy, and Latency against Baseline. Pressure
//     above 1 means that the oldest waiter is older than a typical one may become.
//     Some of these are normal in overload, since the gate lets through a little
//     more than the lane can do.
//   - Reason limit: the same, for callers of [Controller.TryAdmit], who do not wait.
//   - Reason deadline: callers brought less time than Median, and the wait if
//     there is one; or no time at all. They are too hasty, or the back end is too
//     slow.
//   - Reason tenant-cap: nothing is overloaded; a rule of the scorecard was met.
//     Rules and Tenants say which and who.
//   - Reasons stage, keyed, regulator: a stage, keyed signal or guard of yours said
//     no; [ShedError] names it, Keyed and Guards show it. Reason closed: after
//     [Controller.Close], or in a lane that a new config removed.
//   - Nobody is refused, but all is slow: Outcomes by tier. Overload that grows is
//     a back end that fails; Latency above Baseline with "hold: the limit does
//     not bind" is a slow back end that no limit can help.
//   - Resting: nothing is granted for a moment; see "rest" below.
//   - Signals: Stale and Misses tell of one that cannot be read, which then asks
//     for nothing; Err is the last poll's. Terms say what its ratio is made of.
//
// Arrivals counts what comes to the gate: not those refused before it, for
// deadline, tenant-cap, or by a keyed signal, stage or guard. Throughput is what the whole limit would let
// through, as measured.
//
// [Hooks] tell the same as it happens: Shed each refusal, Limit each move of a
// limit with its reason, Gate when a lane begins to shed by priority and when it
// ends. The log, see [WithLogger], has at level Info "shedding began", "shedding
// goes on" and "shedding ended", the last two with how much was shed by tier and
// reason; "limit left its floor", "signal found again", "guard works again" and
// "config applied"; at Warn "limit at its floor", "signal lost", "guard fails open"
// and "config refused"; at Debug "limit moved", "gate sheds" and "gate is open". It
// never has a line per request. Admit, called for each admitted request, is for
// those who annotate traces, see package oteladmission.
//
// # Promises
//
// Each is held by a test.
//
//  1. Every request is settled once: admitted, shed, or left.
//  2. Inflight is the cost of the unreleased tickets, a cost above the limit
//     counting as the whole of it. It passes the limit only while a lowered
//     limit drains.
//  3. Each Enter of a stage or guard that succeeded has exactly one Exit; exits
//     run in reverse.
//  4. A grant that meets a departed waiter goes to the next one.
//  5. Nobody waits longer than the queue's allowance and a millisecond's
//     grain, even if nothing ever finishes.
//  6. When all is released every counter is zero.
//  7. A signal that errs, hangs or panics neither blocks nor sheds a request,
//     unless it is told to hold; the miss is counted. A guard that panics is
//     passed over.
//  8. After Close no goroutine of ours runs and nobody waits; only the poll of
//     a signal that ignores its context can be left, and Close names it.
package admission
