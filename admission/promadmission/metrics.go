package promadmission

import "github.com/prometheus/client_golang/prometheus"

// metric is a description and the type of its values.
type metric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

// metrics are all that a collector sends, described once.
type metrics struct {
	exempt, configInfo, configApplied, configRefused metric

	requests, shadow, early, outcomes metric
	wait, service                     *prometheus.Desc

	inflight, inflightMax, overrun, limit, limitMin, limitMax, resting, baseline, demand metric
	queued, queueCapacity, queueOldest, queueLIFO, shedRatio, threshold, binding         metric

	signal, setpoint, stale, misses, signalRatio, pressed, regulatorShed, panics metric

	ruleInflight, ruleValues, ruleAdmitted, ruleShed, ruleShadow metric
	tenantInflight, tenantShed                                   metric

	descs []*prometheus.Desc
}

func newMetrics(limiter string) *metrics {
	m := &metrics{}
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		d := prometheus.NewDesc("admission_"+name, help, labels, prometheus.Labels{"limiter": limiter})
		m.descs = append(m.descs, d)
		return d
	}
	counter := func(name, help string, labels ...string) metric {
		return metric{describe(name, help, labels...), prometheus.CounterValue}
	}
	gauge := func(name, help string, labels ...string) metric {
		return metric{describe(name, help, labels...), prometheus.GaugeValue}
	}

	m.requests = counter("requests_total", "Requests settled before they ran: admitted, shed (and why) or left by their callers.", "lane", "priority", "decision", "reason")
	m.outcomes = counter("outcomes_total", "Admitted requests that were released, by how they came out.", "lane", "outcome")
	m.shadow = counter("shadow_rejections_total", "Requests that would have been shed but ran, in mode shadow.", "lane", "priority", "reason")
	m.early = counter("early_rejections_total", "Shed requests, also in requests_total, that were turned away before they were read.", "lane")
	m.wait = describe("queue_wait_seconds", "Time that admitted requests spent in the queue, most of them none.", "lane")
	m.service = describe("service_seconds", "Time from admission to release of requests that came out as a success.", "lane")

	m.inflight = gauge("inflight", "Slots taken.", "lane")
	m.inflightMax = gauge("inflight_max", "Most slots taken of late.", "lane")
	m.overrun = gauge("overrun", "Slots' worth of requests that run in mode shadow without a slot.", "lane")
	m.limit = gauge("limit", "Slots there are.", "lane")
	m.limitMin = gauge("limit_min", "Lower bound of the limit, as configured.", "lane")
	m.limitMax = gauge("limit_max", "Upper bound of the limit, as configured.", "lane")
	m.resting = gauge("limit_resting", "1 while nothing is granted because all failed at the lower bound of the limit.", "lane")
	m.baseline = gauge("baseline_seconds", "Service time without load, as the limit's law knows it; 0 if it does not.", "lane")
	m.demand = gauge("demand", "Offered load over what the lane can do: above 1 while it sheds.", "lane")

	m.queued = gauge("queue_length", "Requests that wait.", "lane", "priority")
	m.queueCapacity = gauge("queue_capacity", "Requests that may wait.", "lane")
	m.queueOldest = gauge("queue_oldest_seconds", "Age of the oldest waiter.", "lane")
	m.queueLIFO = gauge("queue_lifo", "1 while the newest waiter of a tier goes first, because of a standing queue; 0: the oldest.", "lane")
	m.shedRatio = gauge("shed_ratio", "Share of arrivals that the gate is to shed.", "lane")
	m.threshold = gauge("gate_threshold", "Priority above which the gate sheds, in tiers; 6: nobody is shed.", "lane")
	m.binding = gauge("gate_binding", "1 for what asks for the shed ratio: queue, or a signal.", "lane", "signal")

	m.signal = gauge("regulator_signal", "Pressure that a signal last read; none while it is stale.", "regulator")
	m.setpoint = gauge("regulator_setpoint", "Pressure that a signal or keyed signal is held at.", "regulator")
	m.stale = gauge("regulator_stale", "1 while a signal or keyed signal has no reading that is young enough.", "regulator")
	m.misses = counter("regulator_misses_total", "Polls of a signal or keyed signal without a reading.", "regulator")
	m.signalRatio = gauge("regulator_shed_ratio", "Shed ratio that a signal asks for.", "regulator")
	m.pressed = gauge("regulator_pressed", "Actors that a keyed signal presses.", "regulator")
	m.regulatorShed = counter("regulator_rejections_total", "Requests that a keyed signal or guard shed, or would have.", "regulator")
	m.panics = counter("regulator_panics_total", "Panics of a guard.", "regulator")

	m.ruleInflight = gauge("rule_inflight", "Inflight requests that a rule of the scorecard counts.", "rule")
	m.ruleValues = gauge("rule_values", "Distinct tenants, or whatever else a rule tells apart, that it counts now.", "rule")
	m.ruleAdmitted = counter("rule_admitted_total", "Requests that a rule counted.", "rule")
	m.ruleShed = counter("rule_rejections_total", "Requests that a rule refused, or would have in mode shadow of the controller.", "rule")
	m.ruleShadow = counter("rule_shadow_rejections_total", "Requests that a rule on trial would have refused.", "rule")
	m.tenantInflight = gauge("tenant_inflight", "Inflight requests of a tenant under a rule; _other: of all that are not shown.", "rule", "tenant")
	m.tenantShed = counter("tenant_rejections_total", "Requests that a rule refused, or would have, of a tenant; _other: of all that are not shown.", "rule", "tenant")

	m.configInfo = gauge("config_info", "1, with the mode and a hash of the config in force.", "mode", "hash")
	m.configApplied = gauge("config_applied_timestamp_seconds", "When the config in force was applied.")
	m.configRefused = counter("config_reload_failures_total", "Configs that were not put in force.")
	m.exempt = counter("exempt_requests_total", "Requests that were counted and nothing else.")
	return m
}
