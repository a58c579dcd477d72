package facts

// Kind is how a fact's values add up.
type Kind uint8

const (
	// Counter only grows.
	Counter Kind = iota
	// Level goes up and down, and its sum over labels means something.
	Level
	// Gauge goes up and down, and its sum means nothing.
	Gauge
)

// Fact is something that has a value for each combination of its labels.
type Fact struct {
	Name   string // dotted, without the namespace
	Unit   string // UCUM: s, 1, or what is counted in braces
	Kind   Kind
	Help   string
	Labels []string
}

// All are the facts there are.
var All []*Fact

func fact(kind Kind, name, unit, help string, labels ...string) *Fact {
	f := &Fact{name, unit, kind, help, labels}
	All = append(All, f)
	return f
}

// The durations are facts whose values are whole histograms; they are not in All.
var (
	Wait    = &Fact{"queue.wait", "s", Counter, "Time that admitted requests spent in the queue, most of them none.", []string{"lane"}}
	Service = &Fact{"service", "s", Counter, "Time from admission to release of requests that came out as a success.", []string{"lane"}}
)

var (
	requests = fact(Counter, "requests", "{request}", "Requests settled before they ran: admitted, shed (and why) or left by their callers.", "lane", "priority", "decision", "reason")
	outcomes = fact(Counter, "outcomes", "{request}", "Admitted requests that were released, by how they came out.", "lane", "outcome")
	shadow   = fact(Counter, "shadow.rejections", "{request}", "Requests that would have been shed but ran, in mode shadow.", "lane", "priority", "reason")
	early    = fact(Counter, "early.rejections", "{request}", "Shed requests, also among all others, that were turned away before they were read.", "lane")
	exempt   = fact(Counter, "exempt.requests", "{request}", "Requests that were counted and nothing else.")

	inflight    = fact(Level, "inflight", "{slot}", "Slots taken.", "lane")
	inflightMax = fact(Level, "inflight_max", "{slot}", "Most slots taken in the last tens of milliseconds, not since the last time this was read.", "lane")
	overrun     = fact(Level, "overrun", "{slot}", "Slots' worth of requests that run in mode shadow without a slot.", "lane")
	limit       = fact(Level, "limit", "{slot}", "Slots there are.", "lane")
	limitMin    = fact(Level, "limit_min", "{slot}", "Lower bound of the limit, as configured.", "lane")
	limitMax    = fact(Level, "limit_max", "{slot}", "Upper bound of the limit, as configured.", "lane")
	resting     = fact(Gauge, "limit_resting", "1", "1 while nothing is granted because all failed at the lower bound of the limit.", "lane")
	baseline    = fact(Gauge, "baseline", "s", "Service time without load, as the limit's law knows it; 0 if it does not.", "lane")
	demand      = fact(Gauge, "demand", "1", "Offered load over what the lane can do: above 1 while it sheds.", "lane")

	queued        = fact(Level, "queue.length", "{request}", "Requests that wait.", "lane", "priority")
	queueCapacity = fact(Level, "queue.capacity", "{request}", "Requests that may wait.", "lane")
	queueOldest   = fact(Gauge, "queue.oldest", "s", "Age of the oldest waiter.", "lane")
	queueLIFO     = fact(Gauge, "queue.lifo", "1", "1 while the newest waiter of a tier goes first, because of a standing queue; 0: the oldest.", "lane")

	shedRatio = fact(Gauge, "shed_ratio", "1", "Share of arrivals that the gate is to shed.", "lane")
	threshold = fact(Gauge, "gate.threshold", "{tier}", "Priority above which the gate sheds, in tiers; 6: nobody is shed.", "lane")
	binding   = fact(Gauge, "gate.binding", "1", "1 for what asks for the shed ratio: queue, or a signal.", "lane", "signal")

	signal        = fact(Gauge, "regulator.signal", "1", "Pressure that a signal last read; none while it is stale.", "regulator")
	setpoint      = fact(Gauge, "regulator.setpoint", "1", "Pressure that a signal or keyed signal is held at.", "regulator")
	stale         = fact(Gauge, "regulator.stale", "1", "1 while a signal or keyed signal has no reading that is young enough.", "regulator")
	misses        = fact(Counter, "regulator.misses", "{poll}", "Polls of a signal or keyed signal without a reading.", "regulator")
	signalRatio   = fact(Gauge, "regulator.shed_ratio", "1", "Shed ratio that a signal asks for.", "regulator")
	pressed       = fact(Level, "regulator.pressed", "{actor}", "Actors that a keyed signal presses.", "regulator")
	regulatorShed = fact(Counter, "regulator.rejections", "{request}", "Requests that a keyed signal or guard shed, or would have.", "regulator")
	panics        = fact(Counter, "regulator.panics", "{panic}", "Panics of a guard.", "regulator")

	ruleInflight = fact(Level, "rule.inflight", "{request}", "Inflight requests that a rule of the scorecard counts.", "rule")
	ruleValues   = fact(Level, "rule.values", "{value}", "Distinct tenants, or whatever else a rule tells apart, that it counts now.", "rule")
	ruleAdmitted = fact(Counter, "rule.admitted", "{request}", "Requests that a rule counted.", "rule")
	ruleShed     = fact(Counter, "rule.rejections", "{request}", "Requests that a rule refused, or would have in mode shadow of the controller.", "rule")
	ruleShadow   = fact(Counter, "rule.shadow_rejections", "{request}", "Requests that a rule on trial would have refused.", "rule")

	configInfo    = fact(Gauge, "config.info", "1", "1, with the mode and a hash of the config in force.", "mode", "hash")
	configApplied = fact(Gauge, "config.applied_timestamp", "s", "When the config in force was applied, in Unix time.")
	configRefused = fact(Counter, "config.reload_failures", "{config}", "Configs that were not put in force.")
)
