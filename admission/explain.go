package admission

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spillway-go/spillway/scorecard"
)

// Explanation is what would happen to a request now, and why.
type Explanation struct {
	Mode    Mode    // in force for the request
	Request Request // as understood: its lane named, its priority with the cohort, its cost counted

	// Verdict on the whole. In mode Shadow it is run even where Err says what
	// the request would have been shed for.
	Verdict Verdict
	// Err is what Admit would return instead of a ticket; nil if the request
	// would run or wait.
	Err error
	// Certain is false where more than was looked at decides: a stage or a guard
	// that was not asked, or chance, since the request has no Key.
	Certain bool
	// Wait is how long those who were let out of the queue lately waited in it,
	// and Allowance how long this request may, give or take a fifth. Both are 0
	// unless it would wait.
	Wait, Allowance time.Duration

	Steps []Step // in the order of the request's way
}

// Step is what one stage would say.
type Step struct {
	Stage   string // as in ShedError; or "mode", "request", "exempt"
	Verdict Verdict
	Why     string // with the numbers that decide; may hold names from the request: escape it before showing it
}

// Verdict is what becomes of a request, at one step or in the end.
type Verdict uint8

// The verdicts.
const (
	VerdictPass       Verdict = iota // the step lets it on to the next one
	VerdictRun                       // it runs at once
	VerdictWait                      // it gets a place in the queue
	VerdictShed                      // it is refused for load
	VerdictGone                      // its caller has left
	VerdictInvalid                   // the request itself is wrong
	VerdictNotAsked                  // the step cannot be asked without taking
	VerdictNotReached                // a step before it has decided
)

var verdictNames = [...]string{"pass", "run", "wait", "shed", "gone", "invalid", "not asked", "not reached"}

// String is the verdict's name, in lower case.
func (v Verdict) String() string {
	if int(v) < len(verdictNames) {
		return verdictNames[v]
	}
	return fmt.Sprintf("verdict(%d)", uint8(v))
}

// MarshalText writes the form of String.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Explain tells what Admit would do with a request now, stage by stage, and why.
// It changes nothing and takes nothing: no counter, no slot, no place in the
// queue. A [Stage] and a guard cannot be asked without taking; what they would
// say is left open. It does not wait; it allocates and formats, so it is for
// people, not for every request.
//
// What it says holds for the moment: whoever comes between may change it.
func (c *Controller) Explain(ctx context.Context, r Request) Explanation {
	x := explainer{c: c, ctx: ctx, Explanation: Explanation{Mode: Off, Request: r, Certain: true}}
	if c != nil {
		x.plan = c.plan.Load()
		x.Mode = x.plan.cfg.Mode
	}
	x.follow()
	if x.Mode == Shadow && (x.Verdict == VerdictShed || x.Verdict == VerdictWait) {
		x.Verdict = VerdictRun
	}
	return x.Explanation
}

// explainer follows a request on the way that Controller.admit takes.
type explainer struct {
	Explanation
	c   *Controller
	ctx context.Context
	ask
	decided bool
}

// follow has each step say its part; those after the one that decides are only named.
func (x *explainer) follow() {
	x.mode()
	if x.Mode == Off {
		return
	}
	for _, step := range []func(){x.exempt, x.valid, x.closed, x.onTime} {
		step()
	}
	if x.lane == nil { // exempt or invalid: nothing says which steps there would be
		return
	}
	for _, step := range []func(){x.rules, x.keyed, x.stages, x.guards, x.gateAndLane} {
		step()
	}
}

// step notes what a step says. The first that does not pass the request on decides.
func (x *explainer) step(stage string, v Verdict, why string, args ...any) {
	if x.decided {
		x.Steps = append(x.Steps, Step{Stage: stage, Verdict: VerdictNotReached})
		return
	}
	x.Steps = append(x.Steps, Step{stage, v, fmt.Sprintf(why, args...)})
	switch v {
	case VerdictPass:
	case VerdictNotAsked:
		x.Certain = false
	default:
		x.Verdict, x.decided = v, true
	}
}

// shed is a step that sheds.
func (x *explainer) shed(stage string, err error, why string, args ...any) {
	if !x.decided {
		x.Err = err
	}
	x.step(stage, VerdictShed, why, args...)
}

// refusal is the error of a reason that has no stage of its own.
func (x *explainer) refusal(why Reason) error {
	return x.lane.refusals.Load().pick(why, x.rank, x.Request.Attempt, rand.Uint32())
}

func (x *explainer) mode() {
	switch {
	case x.c == nil:
		x.step("mode", VerdictRun, "there is no controller")
	case x.Mode == Off:
		x.step("mode", VerdictRun, "mode is off: everything runs, uncounted")
	default:
		x.step("mode", VerdictPass, "mode is %v", x.Mode)
	}
}

func (x *explainer) exempt() {
	if x.Request.Priority == Exempt {
		x.step("exempt", VerdictRun, "exempt requests are counted, nothing else")
		return
	}
	x.step("exempt", VerdictPass, "it is not exempt")
}

func (x *explainer) valid() {
	r := &x.Request
	if x.decided {
		return
	}
	var err error
	if x.ctx == nil {
		err = errNilContext
	} else if x.plan.lane(r.Lane) == nil || r.Cost < 0 || r.Bytes < 0 || r.Attempt < 0 {
		err = x.plan.complain(r)
	}
	if err != nil {
		x.Err = err
		x.step("request", VerdictInvalid, "%v", err)
		return
	}
	named := r.Priority != 0
	x.lane = x.plan.lane(r.Lane)
	if x.Mode = x.lane.mode(); x.Mode == Off {
		x.step("request", VerdictRun, "mode of lane %s is off: its requests run, uncounted", x.lane.name)
		x.lane = nil
		return
	}
	x.rank = x.plan.rank(r, x.c.cohorts.Load())
	x.cost = x.lane.cost(r)
	r.Lane, r.Cost = x.lane.name, x.cost
	r.Priority = priorityOf(x.rank)
	whose := "its own"
	if !named {
		whose = "by its caller's entry or the default"
	}
	x.step("request", VerdictPass, "lane %s (%v), priority %v (%s), cost %d", r.Lane, x.Mode, r.Priority, whose, r.Cost)
}

func (x *explainer) closed() {
	if x.lane == nil {
		return
	}
	if x.plan.closed {
		x.shed("controller", x.refusal(ReasonClosed), "the controller is closed")
		return
	}
	x.step("controller", VerdictPass, "the controller is open")
}

func (x *explainer) onTime() {
	if x.lane == nil {
		return
	}
	expected := time.Duration(x.lane.expected.Load())
	deadline, ok := x.ctx.Deadline()
	if ok {
		x.now = x.c.now()
		x.due = x.c.due(deadline, x.now)
	}
	switch err := x.ctx.Err(); {
	case errors.Is(err, context.DeadlineExceeded):
		x.shed("deadline", x.refusal(ReasonDeadline), "its deadline has passed")
	case err != nil:
		if !x.decided {
			x.Err = context.Cause(x.ctx)
		}
		x.step("deadline", VerdictGone, "its caller has left: %v", context.Cause(x.ctx))
	case !ok:
		x.step("deadline", VerdictPass, "it has no deadline")
	case x.due-x.now <= expected:
		x.shed("deadline", x.refusal(ReasonDeadline), "%v are left, such a request now takes %v", x.due-x.now, expected)
	default:
		x.step("deadline", VerdictPass, "%v are left, such a request now takes %v", x.due-x.now, expected)
	}
}

func (x *explainer) rules() {
	all := []scorecard.Standing(nil)
	if x.plan.ruled {
		var buf [16]scorecard.Tag
		all = x.c.card.Standings(tagsOf(buf[:0], &x.ask, &x.Request))
	}
	if len(all) == 0 {
		x.step("scorecard", VerdictPass, "no rule matches")
	}
	for _, s := range all {
		why := fmt.Sprintf("rule %q: %.64q holds %d of %v", s.Rule, s.Value, s.Held, s.Cap)
		if s.Cap.Share > 0 {
			why += fmt.Sprintf(" of the limit, %d", s.Bound)
		}
		if s.Pressed {
			why += " under pressure"
		}
		switch {
		case s.Full && s.Shadow:
			x.step("scorecard", VerdictPass, "%s; in shadow: it would be shed", why)
		case s.Full:
			x.shed("scorecard", x.refusal(ReasonTenantCap), "%s", why)
		default:
			x.step("scorecard", VerdictPass, "%s", why)
		}
	}
}
