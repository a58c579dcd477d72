package debug

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spillway-go/spillway/admission"
)

// statement is a sentence of the summary and what can be done about it.
type statement struct {
	Level  string `json:"level"` // ok, shed or warn
	Text   string `json:"text"`
	Advice string `json:"advice"`
}

const (
	levelOK   = "ok"
	levelShed = "shed"
	levelWarn = "warn"
)

// judge writes the summary: the first sentence answers what is shed and why; what else
// somebody on call must know follows.
func (r *report) judge() {
	r.Summary = []statement{}
	switch {
	case r.Closed:
		r.say(levelWarn, "", "The controller is closed: every request is refused.")
		return
	case r.Mode == admission.Off:
		r.say(levelWarn, "Set mode to shadow or enforce.", "Mode is off: every request runs, and nothing is counted.")
		return
	}
	byShed := make([]*laneReport, len(r.Lanes))
	for i := range r.Lanes {
		byShed[i] = &r.Lanes[i]
	}
	slices.SortStableFunc(byShed, func(a, b *laneReport) int { return cmp.Compare(b.shedPerS(), a.shedPerS()) })
	for _, l := range byShed {
		r.judgeGate(l)
	}
	for _, l := range byShed {
		r.judgeReasons(l)
	}
	if len(r.Summary) == 0 {
		r.judgeCalm()
	}
	r.warn()
}

func (r *report) say(level, advice, format string, args ...any) {
	r.Summary = append(r.Summary, statement{Level: level, Text: fmt.Sprintf(format, args...), Advice: advice})
}

// sheds is what the lane's mode does to those that are shed.
func (l *laneReport) sheds() string {
	if l.Mode == admission.Shadow {
		return "Mode shadow would shed"
	}
	return "Shedding"
}

func (r *report) judgeGate(l *laneReport) {
	if l.ShedRatio == 0 {
		return
	}
	for i := range r.Signals {
		if s := &r.Signals[i]; s.Name == l.Binding {
			held := ""
			if s.Stale {
				held = fmt.Sprintf(", held since the last reading %s ago", seconds(s.AgeS))
			}
			advice := fmt.Sprintf("Relieve what %s measures, or raise regulators.%s.setpoint if it may bear more.", s.Name, s.Name)
			r.say(levelShed, advice, "%s %s in lane %s: signal %s at %s of setpoint %s%s.",
				l.sheds(), l.who(), l.Name, s.Name, number(s.Pressure), number(s.Setpoint), held)
			return
		}
	}
	r.say(levelShed, r.relief(l), "%s %s in lane %s: %s.", l.sheds(), l.who(), l.Name, l.overload())
}

// who is shed by the gate, in tiers that are offered.
func (l *laneReport) who() string {
	t := l.Threshold.Tier()
	if l.Threshold == 0 {
		return "the least important"
	}
	below := false
	for _, worse := range l.Tiers[t+1:] {
		below = below || worse.OfferedPerS > 0
	}
	whole := l.Threshold.Cohort() == 0
	switch {
	case whole && below:
		return t.String() + " and below"
	case whole:
		return t.String()
	case below:
		return "part of " + t.String() + " and all below"
	}
	return "part of " + t.String()
}

// overload is what the lane's own queue has to say.
func (l *laneReport) overload() string {
	if l.ThroughputPerS > 0 && l.ArrivalsPerS > l.ThroughputPerS {
		return fmt.Sprintf("the queue binds, %s requests/s come and about %s fit", number(l.ArrivalsPerS), number(l.ThroughputPerS))
	}
	return fmt.Sprintf("the queue binds, no slot comes free in time (%d of %d taken, %d wait)", l.Inflight, l.Limit, l.Queued)
}

// relief is what helps a lane that is asked for more than it can do.
func (r *report) relief(l *laneReport) string {
	slow := ""
	if l.BaselineS > 0 && l.LatencyS > 2*l.BaselineS {
		slow = fmt.Sprintf(" Requests take %s, %s when idle: see what they wait for.", seconds(l.LatencyS), seconds(l.BaselineS))
	}
	for _, bound := range []string{"fixed", "max"} {
		field := "lanes." + l.Name + ".limit." + bound
		if v := r.Config.value(field); v != "" && v != "0" && v == fmt.Sprint(l.Limit) {
			return fmt.Sprintf("The limit stands at %s, %s: raise it if the back end can bear more, else add replicas.%s", field, v, slow)
		}
	}
	return "Add replicas, or have the callers of the lowest tiers send less." + slow
}

// usedTiers are those that any request had.
func (l *laneReport) usedTiers() (used []tierReport) {
	for _, t := range l.Tiers {
		if t.Arrived > 0 {
			used = append(used, t)
		}
	}
	return used
}

func (l *laneReport) shedPerS() (sum float64) {
	for _, reason := range l.Reasons {
		sum += reason.PerS
	}
	return sum
}

func (r *report) judgeCalm() {
	offered := 0.0
	for _, l := range r.Lanes {
		for _, t := range l.Tiers {
			offered += t.OfferedPerS
		}
	}
	if offered == 0 {
		r.say(levelOK, "", "Nothing is shed: no requests come.")
		return
	}
	r.say(levelOK, "", "Nothing is shed of %s requests/s.", number(offered))
}

// warn tells of what is wrong without, or before, anybody is shed.
func (r *report) warn() {
	if r.Mode == admission.Shadow {
		r.say(levelWarn, "Set mode to enforce to protect the service.", "Mode is shadow: what would be shed is counted and runs all the same.")
	}
	for _, l := range r.Lanes {
		if l.Mode != r.Mode {
			r.say(levelWarn, "", "Lane %s is in mode %v.", l.Name, l.Mode)
		}
		if l.Resting {
			r.say(levelWarn, "See what its back end answers: outcomes overload, by tier.", "Lane %s grants nothing for a moment: all failed at its lowest limit.", l.Name)
		}
	}
	for _, s := range r.Signals {
		r.warnStale("Signal", s.Name, s.AgeS, s.Stale, s.Error)
	}
	for _, k := range r.Keyed {
		r.warnStale("Keyed signal", k.Name, k.AgeS, k.Stale, k.Error)
	}
	for _, g := range r.Guards {
		if g.Error != "" {
			r.say(levelWarn, "Mend it; until then it lets all through.", "Guard %s panics: %s.", g.Name, g.Error)
		}
	}
	if r.Config.Error != "" {
		r.say(levelWarn, "Mend the config; it is applied whole or not at all.",
			"The last change of the config was refused, that of %s stays: %s", r.Config.Applied.UTC().Format(time.RFC3339), strings.ReplaceAll(r.Config.Error, "\n", "; "))
	}
}

func (r *report) warnStale(what, name string, age float64, stale bool, err string) {
	if !stale {
		return
	}
	last := "it has had none so far"
	if age > 0 {
		last = "the last one is " + seconds(age) + " old"
	}
	if err != "" {
		last += "; " + err
	}
	r.say(levelWarn, "See why it cannot be read. Unless on_stale holds, it asks for nothing meanwhile.", "%s %s has no reading: %s.", what, name, last)
}
