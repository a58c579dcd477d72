package debug

import (
	"fmt"
	"slices"

	"github.com/spillway-go/spillway/admission"
)

// meaning says in a few words what a reason is.
var meaning = map[admission.Reason]string{
	admission.ReasonDeadline:     "less time left than such a request takes",
	admission.ReasonTenantCap:    "over a cap of the scorecard",
	admission.ReasonKeyed:        "this tenant, caller or key is too much",
	admission.ReasonRegulator:    "a guard's bound is reached",
	admission.ReasonStage:        "a stage of your own said no",
	admission.ReasonPriority:     "the gate sheds the least important",
	admission.ReasonLimit:        "no slot free, and it would not wait",
	admission.ReasonQueueFull:    "no place in the queue",
	admission.ReasonQueueTimeout: "no slot came free in time",
	admission.ReasonEvicted:      "its place in the queue went to a better one",
	admission.ReasonClosed:       "the controller is closed, or the lane removed",
}

// judgeReasons tells of refusals that are not the gate's. Those for want of a slot are
// told only where the gate does not shed, for else they are the same overload.
func (r *report) judgeReasons(l *laneReport) {
	wanting, ended, gated := 0.0, 0.0, l.ShedRatio > 0
	for _, reason := range l.Reasons {
		if reason.PerS == 0 {
			continue
		}
		rate := number(reason.PerS) + " requests/s"
		switch reason.why {
		case admission.ReasonDeadline:
			r.say(levelShed, "Give them more time or make the handlers faster; more machines do not help.",
				"%s %s in lane %s: callers bring less time than a request takes, %s in the median.", l.sheds(), rate, l.Name, seconds(l.MedianS))
		case admission.ReasonTenantCap:
			r.say(levelShed, "The service is not overloaded by it. Raise the cap in scorecard.rules, or talk to who sends so much.",
				"%s %s in lane %s: a cap of the scorecard is reached%s.", l.sheds(), rate, l.Name, r.mostRefused())
		case admission.ReasonKeyed, admission.ReasonRegulator, admission.ReasonStage:
			r.say(levelShed, "Read its own figures below; its bounds are under regulators, or in your code.",
				"%s %s in lane %s: %s%s.", l.sheds(), rate, l.Name, meaning[reason.why], r.lastStage(l, reason))
		case admission.ReasonClosed:
			r.say(levelShed, "Name a lane that the config has.", "%s %s in lane %s: the config has removed it.", l.sheds(), rate, l.Name)
		case admission.ReasonPriority:
			if !gated {
				ended = reason.PerS
			}
		default:
			wanting += reason.PerS
		}
	}
	switch full := l.Queued > 0 || l.Inflight >= l.Limit; {
	case gated:
	case ended > 0 && (wanting == 0 || !full): // who had no slot had none before that
		r.say(levelShed, "", "Shedding in lane %s has just ended: %s requests/s in the last %s.", l.Name, number(ended+wanting), rateWindow)
	case wanting > 0:
		r.say(levelShed, r.relief(l), "%s %s requests/s in lane %s: no slot comes free in time (%d of %d taken, %d wait).",
			l.sheds(), number(wanting), l.Name, l.Inflight, l.Limit, l.Queued)
	}
}

// mostRefused names who met most caps, of rules that refuse.
func (r *report) mostRefused() string {
	for _, t := range r.Tenants {
		refuses := func(c ruleReport) bool { return c.Rule == t.Rule && c.Refused > 0 }
		if t.Refused > 0 && slices.ContainsFunc(r.Rules, refuses) {
			return fmt.Sprintf("; most refused so far: %s, by rule %q", t.Value, t.Rule)
		}
	}
	return ""
}

// lastStage names what said no last.
func (r *report) lastStage(l *laneReport, reason reasonReport) string {
	for _, s := range r.Sheds {
		if s.Lane == l.Name && s.Reason == reason.Reason {
			return " (" + s.Stage + ")"
		}
	}
	return ""
}
