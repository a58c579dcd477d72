// Package promadmission shows an [admission.Controller] to Prometheus. It reads the
// controller's statistics when it is scraped and costs a request nothing.
//
//	err := promadmission.Register(registry, ctrl)
//
// Every controller of a process is registered by itself; [WithName] tells them
// apart by the label limiter. To end it, unregister a collector made by [New], or
// close the controller: of a closed one no gauge is sent, only what it has counted.
//
// # Metrics
//
// All names begin with admission_ and all have the label limiter. A lane has some
// 150 series, a signal 5 and a rule 5. Names of lanes, signals and rules come from the config;
// nothing that a caller sends becomes a label, unless [WithTopTenants] asks for it.
//
//	name                              type       unit      labels
//	requests_total                    counter    requests  lane, priority, decision, reason
//	outcomes_total                    counter    requests  lane, outcome
//	shadow_rejections_total           counter    requests  lane, priority, reason
//	early_rejections_total            counter    requests  lane
//	exempt_requests_total             counter    requests
//	queue_wait_seconds                histogram  seconds   lane
//	service_seconds                   histogram  seconds   lane
//	inflight                          gauge      slots     lane
//	inflight_max                      gauge      slots     lane
//	overrun                           gauge      slots     lane
//	limit                             gauge      slots     lane
//	limit_min                         gauge      slots     lane
//	limit_max                         gauge      slots     lane
//	limit_resting                     gauge      0 or 1    lane
//	baseline_seconds                  gauge      seconds   lane
//	demand                            gauge      ratio     lane
//	queue_length                      gauge      requests  lane, priority
//	queue_capacity                    gauge      requests  lane
//	queue_oldest_seconds              gauge      seconds   lane
//	queue_lifo                        gauge      0 or 1    lane
//	shed_ratio                        gauge      ratio     lane
//	gate_threshold                    gauge      tiers     lane
//	gate_binding                      gauge      1         lane, signal
//	regulator_signal                  gauge      ratio     regulator
//	regulator_setpoint                gauge      ratio     regulator
//	regulator_stale                   gauge      0 or 1    regulator
//	regulator_misses_total            counter    polls     regulator
//	regulator_shed_ratio              gauge      ratio     regulator
//	regulator_pressed                 gauge      actors    regulator
//	regulator_rejections_total        counter    requests  regulator
//	regulator_panics_total            counter    panics    regulator
//	rule_inflight                     gauge      requests  rule
//	rule_values                       gauge      values    rule
//	rule_admitted_total               counter    requests  rule
//	rule_rejections_total             counter    requests  rule
//	rule_shadow_rejections_total      counter    requests  rule
//	tenant_inflight                   gauge      requests  rule, tenant
//	tenant_rejections_total           counter    requests  rule, tenant
//	config_info                       gauge      1         mode, hash
//	config_applied_timestamp_seconds  gauge      seconds
//	config_reload_failures_total      counter    configs
//
// What they mean stands in their help texts and, with what to do about it, in package
// admission under "What to look at". Where the labels are not plain:
//
//   - decision is admitted, shed or left: the sum over all is every request that is
//     no longer waiting, each once. reason says why it was shed, priority is its
//     tier, t0 to t5. All combinations are there from the start, as zeros.
//   - shadow_rejections_total counts, in mode shadow, requests that are among those
//     admitted too; its series appear as they are needed.
//   - Histograms have native buckets, four an octave, for servers that scrape
//     those, and classic ones at the powers of two of microseconds from 128 µs to
//     17 s, whose counts are exact.
//   - The tenants shown change, so a tenant's series may end and begin again; _other
//     has all that happened to those not shown, and only grows. What a tenant did before
//     it was shown is in both: add up increases, not values.
//   - regulator_signal is missing while the signal is stale: a value that is over
//     must not look like one.
//
// A dashboard and alert rules over these metrics, held to them by tests, are in examples/monitoring.
//
// # Scaling by demand
//
// A service that sheds looks well used and no more: its CPU and its inflight requests
// stop at what the limit lets in, so an autoscaler that looks at those
// stops as well. demand is what would be used if nobody were shed, over what the
// lane can do, by [admission.LoadReport]: 0.7 when 70 % of the slots are used, 3 when three
// times as much is asked for as can be done. Kubernetes multiplies the number
// of replicas by the mean of the metric over its target, so 3 becomes nearly the right
// number at once. With prometheus-adapter serving the metric per pod, a
// HorizontalPodAutoscaler says:
//
//	metrics:
//	- type: Pods
//	  pods:
//	    metric:
//	      name: admission_demand
//	    target:
//	      type: AverageValue
//	      averageValue: 700m
//
// KEDA asks Prometheus itself. Its threshold is per replica, so the query sums over them:
//
//	triggers:
//	- type: prometheus
//	  metadata:
//	    serverAddress: http://prometheus:9090
//	    query: sum(max by (pod) (avg_over_time(admission_demand{namespace="shop"}[1m])))
//	    threshold: "0.7"
//
// Let scaling down wait for several minutes, or its own bursts will follow each other.
// The demand of a lane that sheds by a signal is above 1 as well: where what the signal
// speaks for (a database, say) is shared by all replicas, more of them do not help,
// and that lane should be left out of the query.
package promadmission
