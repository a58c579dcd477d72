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
// Most services use it through package httpmw and never call Admit.
//
// # A request's way
//
//	request -> exempt? -> dead on arrival? -> scorecard -> stages -> gate -> lane: limit, queue -> run
//	                                                                  ^             |
//	               signals -> pressure -> PID -> shed ratio (max) ----+   release(outcome, service time)
//	                                                                                -> limit, histograms
//
// Cheapest and most particular first: a tenant over its cap neither waits nor
// takes a place from others.
//
//   - A request without time left, or with less than such a request now takes,
//     is refused at once (reason deadline).
//   - The scorecard holds the caps that people set, per tenant, caller or any
//     tag, whether or not the service is loaded (tenant-cap).
//   - Stages are the user's own decisions (stage).
//   - The gate sheds the least important share of what is offered when the
//     lane's queue keeps losing, or when a signal says so (priority). For want of
//     slots it sheds nobody while a quarter of them is free.
//   - The lane gives out slots under an inflight limit that finds itself.
//     Without a free slot the request waits, best tier first, newest first
//     while a standing queue exists, for a third of its remaining deadline
//     (queue-timeout, queue-full, evicted).
//
// Whoever is refused gets a [*ShedError] with the reason and a hint when to
// try again; whoever leaves gets his own context's cause.
//
// # The loop
//
// One goroutine per controller ticks every 50 ms while there is work and
// sleeps when there is none. A tick moves each lane's limit by the law of
// [pid.Octave] (others can be chosen, see [LimitConfig], or brought, see
// [WithLimit]) and, every 100 ms, the gate's shed ratio by [pid.ShedRatio].
// All decisions are those of a pure state machine that knows neither clock nor
// lock; this package is the shell around it: one short lock per lane, a
// clock, and the waiting.
//
// # What to look at
//
// [Controller.Stats] explains the moment: per lane the limit and why it last
// moved, slots taken, waiters by tier, the shed ratio and what asks for it,
// counts by tier and reason. Every move of a limit and of a gate is told with its
// reason by [Hooks] and, at level Debug, by the log. In words:
//
//   - ShedRatio above 0 with Binding "queue": the lane is asked for more than
//     it can do. Binding names a signal: that signal is above its setpoint.
//   - LimitWhy "cut: slower than the baseline allows": the back end queues
//     inside; the limit goes down until it does not.
//   - Resting: everything failed even at the lowest limit; the lane pauses for
//     a few seconds at a time and tries again.
//   - tenant-cap: nothing is overloaded; a rule of the scorecard was met.
//
// Pin a lane's limit (LimitConfig.Fixed) when the back end has a hard bound of
// its own, such as a connection pool. Try anything in mode [Shadow] first: the
// same decisions are made and counted, and nobody is shed.
//
// # Promises
//
// Each is held by a test.
//
//  1. Every request is settled once: admitted, shed, or left.
//  2. Inflight is the cost of the unreleased tickets, a cost above the limit
//     counting as the whole of it. It passes the limit only while a lowered
//     limit drains.
//  3. Each Enter of a stage that succeeded has exactly one Exit; exits run in
//     reverse.
//  4. A grant that meets a departed waiter goes to the next one.
//  5. Nobody waits longer than the queue's allowance and a millisecond's
//     grain, even if nothing ever finishes.
//  6. When all is released every counter is zero.
//  7. A signal that errs, hangs or panics neither blocks nor sheds a request;
//     the miss is counted.
//  8. After Close no goroutine of ours runs and nobody waits; only the poll of
//     a signal that ignores its context can be left, and Close names it.
package admission
