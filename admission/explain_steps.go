package admission

import (
	"github.com/spillway-go/spillway/admission/internal/core"
)

func (x *explainer) keyed() {
	for i := range x.plan.keyed {
		b := &x.plan.keyed[i]
		switch actors := b.pressed.Load(); {
		case !b.binds(x.lane):
		case actors == nil || (*actors)[actorOf(&x.Request, b.by)] == nil:
			x.step(b.name, VerdictPass, "its %s is not pressed", b.by)
		default:
			x.pressedBy(b, (*actors)[actorOf(&x.Request, b.by)])
		}
	}
}

func (x *explainer) pressedBy(b *boundKeyed, a *core.Actor) {
	shed, share := a.Foresee(x.rank/NumCohorts, keyedHash(&x.Request, b.by))
	why, args := "its %s is pressed: of its requests of this tier %.3g are shed", []any{b.by, share}
	if share > 0 && share < 1 && !b.cfg.Shadow && (b.by == byKey || x.Request.Key == "") {
		why += "; chance decides"
		x.Certain = x.Certain && x.decided
	}
	switch {
	case shed && b.cfg.Shadow:
		x.step(b.name, VerdictPass, why+"; in shadow: it would be shed", args...)
	case shed:
		x.shed(b.name, b.errs.wrap(x.lane, b.name, ReasonKeyed, errPressed, x.rank, x.Request.Attempt), why, args...)
	default:
		x.step(b.name, VerdictPass, why, args...)
	}
}

func (x *explainer) stages() {
	for i := range x.plan.stages {
		if s := &x.plan.stages[i]; s.binds(x.lane) {
			x.step(s.name, VerdictNotAsked, "a stage takes when it is asked")
		}
	}
}

func (x *explainer) guards() {
	for i := range x.plan.guards {
		if b := &x.plan.guards[i]; b.binds(x.lane) {
			if b.cfg.Shadow {
				x.step(b.name, VerdictPass, "in shadow: it refuses nobody; it would have refused %d", b.refused.Load())
				continue
			}
			x.step(b.name, VerdictNotAsked, "a guard takes when it is asked; it has refused %d", b.refused.Load())
		}
	}
}

func (x *explainer) gateAndLane() {
	l := x.lane
	call := core.Call{Rank: x.rank, Cost: x.cost, Deadline: x.due}
	hash := hashOf(&x.Request)
	now := x.c.now()
	l.mu.Lock()
	p := l.mu.core.Foresee(now, call, hash)
	l.mu.Unlock()
	x.gate(&p)
	if p.State != core.Refused || p.Reason != ReasonClosed {
		x.slots(&p)
		return
	}
	x.shed("controller", x.refusal(ReasonClosed), "the lane was removed")
}

func (x *explainer) gate(p *core.Prospect) {
	if p.Threshold == core.NumRanks {
		x.step("gate", VerdictPass, "it is open")
		return
	}
	at := priorityOf(p.Threshold)
	why, args := "shed ratio %.3g, asked for by %s: sheds what is worse than %v, and %.3g of this rank", []any{p.Ratio, p.Binding, at, p.Share}
	if p.Room {
		why += "; slots are free, only what signals ask for is shed"
	}
	if p.Share > 0 && p.Share < 1 && x.Request.Key == "" {
		why += "; chance decides"
		x.Certain = x.Certain && x.decided
	}
	if p.Shed {
		x.shed("gate", x.refusal(ReasonPriority), why, args...)
	} else {
		x.step("gate", VerdictPass, why, args...)
	}
}

func (x *explainer) slots(p *core.Prospect) {
	why, args := "%d of %d slots taken, it needs %d", []any{p.Inflight, p.Limit, p.Cost}
	if p.Resting {
		why += "; nothing is granted for a while, since all failed at the floor"
	}
	if p.State == core.Running {
		x.step("limit", VerdictRun, why, args...)
		return
	}
	x.step("limit", VerdictPass, why+"; to the queue", args...)
	why, args = "%d of %d places taken", []any{p.Queued, p.Capacity}
	if p.State == core.Refused {
		x.shed("queue", x.refusal(p.Reason), why+" by tiers better than its own", args...)
		return
	}
	if p.Evicts {
		why += "; the worst waiter gives way to it"
	}
	if !x.decided {
		x.Wait, x.Allowance = p.Wait, p.Allow
	}
	x.step("queue", VerdictWait, why+"; waits of late were %v, it may wait %v", append(args, p.Wait, p.Allow)...)
}
