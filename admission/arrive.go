package admission

import (
	"context"

	"github.com/spillway-go/spillway/admission/internal/core"
	"github.com/spillway-go/spillway/scorecard"
)

// arrive is the gate and the lane, under one lock; where nothing comes between them
// the rules too.
func (c *Controller) arrive(ctx context.Context, a *ask, r *Request, wait bool) (Ticket, error) {
	l := a.lane
	if a.now == core.Untimed && l.open.Load() && !l.rush.Load() {
		// Nobody is shed by the gate, so the clock will be needed: better read
		// before the lock than under it.
		a.now = c.now()
	}
	if !l.mu.TryLock() { // saves a call, as in release: most find it free
		l.mu.Lock()
	}
	if a.ghost {
		return c.arriveGhostLocked(ctx, a, r, wait)
	}
	k := l.mu.core
	var answer scorecard.Answer
	if a.unasked {
		// Not as a literal, which is made elsewhere and then copied: the copy waits for it.
		var values [3]string
		values[0], values[1], values[2] = r.Tenant, r.Caller, r.Op
		var full *scorecard.CapError
		if answer, full = c.card.AskLocked(l.forms[a.rank/NumCohorts], values[:]); full != nil {
			k.Refuse(a.rank, ReasonTenantCap, false)
			if full.Cap.Share > 0 {
				k.Short()
			}
			return c.shedLocked(ctx, a, r, ReasonTenantCap, full)
		}
	}
	switch {
	case k.Offer(a.rank, hashIf(k.Divided(a.rank), r), false):
		answer.PassLocked()
		return c.shedLocked(ctx, a, r, ReasonPriority, nil)
	case !wait && k.TurnAway(a.rank, a.cost):
		answer.PassLocked()
		return c.shedLocked(ctx, a, r, ReasonLimit, nil)
	}
	return c.enterLocked(ctx, a, r, answer, wait)
}

// enterLocked brings a request into the lane, and unlocks.
func (c *Controller) enterLocked(ctx context.Context, a *ask, r *Request, answer scorecard.Answer, wait bool) (Ticket, error) {
	l := a.lane
	e, k := l.entryLocked(c, a), l.mu.core
	e.describe(a, r)
	if k.Timed(&e.call, wait) && a.now == core.Untimed {
		a.now = c.now()
	}
	state := k.Arrive(a.now, &e.call, l.chanceLocked(), wait)
	if state == core.Refused {
		answer.PassLocked()
		return c.shedLocked(ctx, a, r, e.call.Reason, nil)
	}
	e.claimLocked(a, answer)
	t := e.ticket()
	if state == core.Running { // nobody was settled, and nobody new may expire
		wake := l.mu.asleep && l.wakeLocked()
		l.mu.Unlock()
		if wake {
			c.wake()
		}
		return c.tellAdmit(ctx, t), nil
	}
	settled, wake := k.Settled(), l.wakeLocked()
	l.mu.Unlock()
	tell(settled)
	if wake {
		c.wake()
	}
	return c.wait(ctx, e, r)
}

// arriveGhostLocked is arrive for a request that runs whatever is decided, and unlocks.
func (c *Controller) arriveGhostLocked(ctx context.Context, a *ask, r *Request, wait bool) (Ticket, error) {
	l := a.lane
	e, k := l.entryLocked(c, a), l.mu.core
	shed := k.Offer(a.rank, hashIf(k.Divided(a.rank), r), true)
	e.describe(a, r)
	e.claimLocked(a, scorecard.Answer{})
	if shed {
		k.Unslotted(&e.call)
		return c.ghostLocked(ctx, a, r, e, ReasonPriority)
	}
	if k.Timed(&e.call, wait) && a.now == core.Untimed {
		a.now = c.now()
	}
	k.Arrive(a.now, &e.call, l.chanceLocked(), wait)
	return c.ghostLocked(ctx, a, r, e, e.call.Reason)
}

// hashIf is that of a request where the gate decides by it. It is short enough to be
// compiled into its callers.
func hashIf(divided bool, r *Request) uint32 {
	if divided {
		return hashOf(r)
	}
	return 0
}

// claimLocked keeps the entry for the request, with what the request holds.
func (e *entry) claimLocked(a *ask, answer scorecard.Answer) {
	if a.e == nil {
		e.lane.takeLocked(e.ctrl)
	}
	if a.unasked {
		answer.TakeLocked(&e.hold)
	}
}
