package facts

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"
	"unicode/utf8"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/scorecard"
)

// Report is told each value, with those of the fact's labels in their order.
type Report func(f *Fact, value float64, labels ...string)

// Of tells all of a controller but its histograms, from one snapshot and the config.
// Of a closed one only the counters are told: they are final, and any other value
// would go on to show a moment that is over.
func Of(s *admission.Stats, cfg admission.Config, tell Report) {
	put := func(f *Fact, value float64, labels ...string) {
		if !s.Closed || f.Kind == Counter {
			tell(f, value, labels...)
		}
	}
	put(exempt, float64(s.Exempt))
	put(configInfo, 1, cfg.Mode.String(), hash(cfg))
	put(configApplied, float64(s.Config.Applied.UnixMilli())/1e3)
	put(configRefused, float64(s.Config.Refused))
	for i := range s.Lanes {
		l := &s.Lanes[i]
		ofRequests(put, l)
		ofLimit(put, l, cfg.Lanes)
		ofQueue(put, l)
	}
	ofRegulators(put, s)
	ofRules(put, s.Rules)
}

// CheckName says what is wrong with the name of a controller.
func CheckName(limiter string) error {
	if limiter == "" || !utf8.ValidString(limiter) {
		return fmt.Errorf("name is %q: must be UTF-8 and not empty", limiter)
	}
	return nil
}

// Valid makes a label of any string.
func Valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// hash is the same for equal configs, so that a glance tells which replicas run
// another one.
func hash(cfg admission.Config) string {
	h := fnv.New32a()
	if err := json.NewEncoder(h).Encode(cfg); err != nil {
		return "unknown" // cannot be: a config is plain data, and was validated
	}
	return fmt.Sprintf("%08x", h.Sum32())
}

func flag(set bool) float64 {
	if set {
		return 1
	}
	return 0
}

// ofRequests tells of settled requests. All that can be are there from the start,
// zeros too: of a series that begins above zero the first step would be lost to
// who computes rates. What shadow would have shed is only told where it has, or a
// lane would have half as many series again.
func ofRequests(put Report, l *admission.LaneStats) {
	var released [len(admission.TierStats{}.Outcomes)]uint64
	for t := range l.Tiers {
		tier, name := &l.Tiers[t], admission.Tier(t).String()
		put(requests, float64(tier.Admitted), l.Name, name, "admitted", "")
		put(requests, float64(tier.Left), l.Name, name, "left", "")
		for r := range admission.NumReasons {
			put(requests, float64(tier.Shed[r]), l.Name, name, "shed", r.String())
			if n := tier.Shadow[r]; n > 0 {
				put(shadow, float64(n), l.Name, name, r.String())
			}
		}
		for o, n := range tier.Outcomes {
			released[o] += n
		}
	}
	for o, n := range released {
		put(outcomes, float64(n), l.Name, admission.Outcome(o).String())
	}
	put(early, float64(l.Early), l.Name)
}

func ofLimit(put Report, l *admission.LaneStats, configs map[string]admission.LaneConfig) {
	put(inflight, float64(l.Inflight), l.Name)
	put(inflightMax, float64(l.Peak), l.Name)
	put(overrun, float64(l.Overrun), l.Name)
	put(limit, float64(l.Limit), l.Name)
	if cfg, ok := configs[l.Name]; ok {
		least, most := cfg.Limit.Min, cfg.Limit.Max
		if cfg.Limit.Fixed > 0 {
			least, most = cfg.Limit.Fixed, cfg.Limit.Fixed
		}
		put(limitMin, float64(least), l.Name)
		put(limitMax, float64(most), l.Name)
	}
	put(resting, flag(l.Resting), l.Name)
	put(baseline, l.Baseline.Seconds(), l.Name)
	put(demand, l.Demand, l.Name)
}

func ofQueue(put Report, l *admission.LaneStats) {
	for t, n := range l.Queued {
		put(queued, float64(n), l.Name, admission.Tier(t).String())
	}
	put(queueCapacity, float64(l.QueueCapacity), l.Name)
	put(queueOldest, l.OldestWaiter.Seconds(), l.Name)
	put(queueLIFO, flag(l.QueueMode == "LIFO"), l.Name)

	put(shedRatio, l.ShedRatio, l.Name)
	put(threshold, tiers(l.Threshold), l.Name)
	if l.Binding != "" {
		put(binding, 1, l.Name, l.Binding)
	}
}

// tiers is a priority as a number, its cohort being a fraction; the number of
// tiers when nobody is shed.
func tiers(p admission.Priority) float64 {
	if p == 0 {
		return admission.NumTiers
	}
	return float64(p.Tier()) + float64(p.Cohort())/admission.NumCohorts
}

func ofRegulators(put Report, s *admission.Stats) {
	polled := func(name string, at float64, old bool, missed uint64) {
		put(setpoint, at, name)
		put(stale, flag(old), name)
		put(misses, float64(missed), name)
	}
	for i := range s.Signals {
		r := &s.Signals[i]
		polled(r.Name, r.Setpoint, r.Stale, r.Misses)
		if !r.Stale {
			put(signal, r.Pressure, r.Name)
		}
		put(signalRatio, r.Ratio, r.Name)
	}
	for i := range s.Keyed {
		r := &s.Keyed[i]
		polled(r.Name, r.Setpoint, r.Stale, r.Misses)
		put(pressed, float64(r.Pressed), r.Name)
		put(regulatorShed, float64(r.Shed), r.Name)
	}
	for i := range s.Guards {
		r := &s.Guards[i]
		put(regulatorShed, float64(r.Refused), r.Name)
		put(panics, float64(r.Panics), r.Name)
	}
}

func ofRules(put Report, rules []scorecard.Count) {
	for i := range rules {
		r := &rules[i]
		put(ruleInflight, float64(r.Held), r.Rule)
		put(ruleValues, float64(r.Distinct), r.Rule)
		put(ruleAdmitted, float64(r.Admitted), r.Rule)
		put(ruleShed, float64(r.Refused), r.Rule)
		put(ruleShadow, float64(r.Shadowed), r.Rule)
	}
}
