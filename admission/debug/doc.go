// Package debug serves one page about a running controller, for whoever is on call:
// what is shed, why, and what to change stands on top in one sentence.
//
//	mux.Handle("/debug/admission", debug.Handler(ctrl))
//
// The page shows lanes (limit, slots, queue, gate and what binds it, tiers, reasons),
// the last minutes as charts, signals and guards, the scorecard's rules and who meets
// them most, some of the last refusals, and the config in force with what differs
// from the defaults. A form asks [admission.Controller.Explain] what would become of
// a request; ?explain with the form's fields (lane, priority, tenant, caller, op,
// key, cost, bytes, deadline) asks the same in every format. It renews itself each
// second, works without JavaScript too (reload it), by keyboard, on a phone and in
// the dark, and loads nothing from elsewhere: its policy (CSP) allows only its own
// script and style, by their hashes.
//
// # Who may see it
//
// It is registered nowhere by itself. It names tenants, callers, operations and keys:
// serve it where only those on call come, best on a listener of its own, and hide
// names of tenants by [WithRedactor]. It changes nothing: it answers GET and HEAD.
//
// Overload must not shed the page about it. Package httpmw exempts all below /debug/
// unless its Exempt is set; elsewhere mark its requests [admission.Exempt].
//
// # What it costs
//
// No goroutine is its own. What must be remembered for it, the controller's loop keeps,
// see [admission.Controller.Recent]: one small record each second while there is work,
// none while it is idle, and two refusals of each reason a second. All else is asked
// for when somebody looks, and at most twice a second however many do.
//
// # Text
//
// With ?format=text it is for a terminal, say by
//
//	curl -s localhost:6060/debug/admission?format=text
//
// which answers with such a thing as (… stands for lines left out)
//
//	2000-01-01T00:00:12Z  mode enforce
//	SHED: Shedding part of t3 and all below in lane write: signal lag at 0.81 of setpoint 0.8.
//	  Relieve what lag measures, or raise regulators.lag.setpoint if it may bear more.
//	…
//	LANE write
//	  slots       0 of 20 taken, peak 2, overrun 0; limit: pinned
//	  queue       0 of 80, FIFO, oldest 0s, pressure 0
//	  gate        sheds 58.4 % from t3/38, asked for by lag
//	  rate        100/s come to the gate, 395/s fit; demand 2.4 of what it can do
//	  time        median 53.2ms, idle 0s; since the start: service p50 53.2ms p99 53.2ms, wait p50 1µs p99 1µs
//	  TIER        OFFERED/S  ADMITTED/S  SHED/S  QUEUED  ADMITTED  SHED  WOULD SHED  LEFT
//	  t0          3.99       1.99        1.99    0       24        24    0           0
//	  t1          32.9       32.9        0       0       396       0     0           0
//	  t3          32.9       8.42        24.5    0       134       262   0           0
//	  t5          33         0           33      0       20        376   0           0
//	  REASON      SHED/S     SHED        MEANING
//	  tenant-cap  1.99       24          over a cap of the scorecard
//	  priority    57.5       638         the gate sheds the least important
//
//	SIGNAL  PRESSURE  SETPOINT  RATIO   P        I      D  AGE    MISSES  ERROR
//	lag     0.81      0.8       58.5 %  0.00125  0.879  0  239ms  0
//
//	RULE         HELD  DISTINCT  ADMITTED  REFUSED  SHADOWED
//	each tenant  0     8         1212      24       0
//	…
//	LAST SHEDS            LANE   REASON      BY         PRIORITY  TENANT    CALLER    OP            KEY         CAUSE
//	2000-01-01T00:00:11Z  write  priority    lag        t5/101    tenant-4  checkout  POST /orders  order-1103
//	…
//	CONFIG 1 since 2000-01-01T00:00:00Z, 0 refused; what differs from the default:
//	  lanes.write.limit.fixed  20                         (not set)
//	  scorecard.rules[0]       each tenant: tenant:* = 2  (not set)
//	  regulators.lag.lanes[0]  write                      (not set)
//	  regulators.lag.setpoint  0.8                        (1)
//	  regulators.lag.ki        0.3                        (1.4)
//
// In every format characters that no terminal should be sent are escaped as in Go.
//
// # JSON
//
// With ?format=json it is for programs: an object whose fields are never renamed and
// keep their units; some may be added. What a field is that is not told here, the field of
// like name of [admission.Stats] says. Times in seconds end in _s, rates (over the last
// ten seconds) in _per_s, counts run since the start, moments are RFC 3339.
//
//	at       when it was asked for
//	summary  sentences, the most important first: level (ok, shed, warn), text, advice
//	mode     enforce, shadow or off; closed, exempt as in Stats
//	lanes    name, mode
//	         limit, inflight, peak, overrun, limit_why, probing, resting
//	         baseline_s, latency_s, median_s: service times
//	         queued, oldest_waiter_s, queue_capacity, queue_mode, pressure
//	         shed_ratio, threshold (such as t3/38; "": nobody), binding (queue, a signal's name or "")
//	         arrivals_per_s, throughput_per_s: as Arrivals and Throughput, smoothed by the controller; demand
//	         early, wait_p50_s, wait_p99_s, service_p50_s, service_p99_s: since the start
//	         tiers    tier, queued, offered_per_s, admitted_per_s, shed_per_s (also what only would be),
//	                  arrived, admitted, left, shed, would_shed, outcomes (success, overload, failure, ignore)
//	         reasons  reason, per_s, total: those that occurred, also what only would have been
//	         points   one for each second of the last five minutes: at, limit, inflight, queued, shed_ratio,
//	                  threshold, binding, median_s, and offered_per_s, admitted_per_s, shed_per_s since the point before
//	signals  name, shadow, setpoint, pressure, age_s, stale, misses, error, ratio; p, i, d, out: the PID's terms
//	         points   at, setpoint, pressure, stale
//	keyed    name, shadow, by, setpoint, age_s, stale, misses, error, pressed, over, shed; top: key, pressure, ratio
//	guards   name, shadow, refused, panics, error
//	rules    rule, wild, held, distinct, other_held, admitted, refused, shadowed
//	tenants  rule, value, held, refused: those refused most
//	sheds    at, lane, reason, stage, priority, tenant, caller, op, key, cause, shadow: some of the last
//	explain  only where asked: error (Admit's), mode, lane, priority, cost, verdict, certain, wait_s, allowance_s
//	         steps    stage, verdict, why
//	config   version, applied, refused, error
//	         settings  field (such as lanes.write.limit.max), value, default, changed
package debug
