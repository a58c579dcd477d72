package admission

import (
	"context"

	"github.com/spillway-go/spillway/admission/internal/core"
	"github.com/spillway-go/spillway/scorecard"
)

// shedLocked ends the way of a request that is shed at the lane's door, and unlocks.
func (c *Controller) shedLocked(ctx context.Context, a *ask, r *Request, why Reason, cause error) (Ticket, error) {
	l := a.lane
	shed := l.refusals.Load().pick(why, a.rank, r.Attempt, l.turnLocked())
	wake := l.mu.asleep && l.wakeLocked()
	l.mu.Unlock()
	if wake { // what is shed shows in logs and on the page only while the loop runs
		c.wake()
	}
	c.undo(a)
	if c.hearsOf(why) {
		c.tellShed(ctx, r, shed, cause, false)
	}
	return Ticket{}, shed
}

// hearsOf tells whether it is worth a call to tell of a request that was shed.
func (c *Controller) hearsOf(why Reason) bool {
	return c.sheds.room[why].Load() > 0 || c.opts.hooks.Shed != nil
}

// ghostLocked lets a request run in shadow, whatever became of it, and unlocks.
func (c *Controller) ghostLocked(ctx context.Context, a *ask, r *Request, e *entry, why Reason) (Ticket, error) {
	l, t := a.lane, e.ticket()
	shed := l.refusals.Load().pick(why, a.rank, r.Attempt, l.turnLocked())
	refused := e.call.State == core.Refused
	settled, wake := l.mu.core.Settled(), l.wakeLocked()
	l.mu.Unlock()
	tell(settled)
	if wake {
		c.wake()
	}
	if refused {
		return c.tellShadow(ctx, r, shed, nil, t)
	}
	return c.tellAdmit(ctx, t), nil
}

// refuse sheds a request that has not come to the gate.
func (c *Controller) refuse(ctx context.Context, a *ask, r *Request, why Reason, cause error) (Ticket, error) {
	l := a.lane
	l.mu.Lock()
	return c.refusedLocked(ctx, a, r, l.refusals.Load().pick(why, a.rank, r.Attempt, l.turnLocked()), cause)
}

func (c *Controller) refused(ctx context.Context, a *ask, r *Request, shed *ShedError, cause error) (Ticket, error) {
	a.lane.mu.Lock()
	return c.refusedLocked(ctx, a, r, shed, cause)
}

// refusedLocked unlocks.
func (c *Controller) refusedLocked(ctx context.Context, a *ask, r *Request, shed *ShedError, cause error) (Ticket, error) {
	l, ghost := a.lane, a.ghost
	t := Ticket{}
	l.mu.core.Refuse(a.rank, shed.Reason, ghost)
	if full, ok := cause.(*scorecard.CapError); ok && full.Cap.Share > 0 {
		l.mu.core.Short()
	}
	if ghost {
		e := l.entryLocked(c, a)
		e.describe(a, r)
		e.claimLocked(a, scorecard.Answer{})
		l.mu.core.Unslotted(&e.call)
		t = e.ticket()
	}
	wake := l.mu.asleep && l.wakeLocked()
	l.mu.Unlock()
	if wake {
		c.wake()
	}
	if ghost {
		return c.tellShadow(ctx, r, shed, cause, t)
	}
	c.undo(a)
	c.tellShed(ctx, r, shed, cause, false)
	return Ticket{}, shed
}

// undo gives back what a request took before it was shed.
func (c *Controller) undo(a *ask) {
	if a.e != nil {
		c.drop(a.e)
	}
}

func (c *Controller) tellShed(ctx context.Context, r *Request, shed *ShedError, cause error, shadow bool) {
	sample, hook := c.sheds.wants(shed.Reason), c.opts.hooks.Shed
	if !sample && hook == nil {
		return
	}
	priority := priorityOf(c.plan.Load().rank(r, c.cohorts.Load()))
	if sample {
		c.sheds.take(c.start.Add(c.now()), r, priority, shed, cause, shadow)
	}
	if hook != nil {
		hook(ctx, Refusal{Request: *r, Priority: priority, Err: shed, Cause: cause, Shadow: shadow})
	}
}

func priorityOf(rank int) Priority {
	return NewPriority(Tier(rank/NumCohorts), rank%NumCohorts)
}

// tellAdmit tells of a request that was admitted, and returns its ticket.
func (c *Controller) tellAdmit(ctx context.Context, t Ticket) Ticket {
	if t.waited >= c.opts.hooks.MinWait {
		c.callAdmit(ctx, t)
	}
	return t
}

func (c *Controller) callAdmit(ctx context.Context, t Ticket) {
	told := false
	defer t.releaseUnless(&told)
	c.opts.hooks.Admit(ctx, Admission{Lane: t.e.lane.name, Priority: priorityOf(t.e.call.Rank), Waited: t.waited})
	told = true
}

// tellShadow tells of a request that would have been shed and runs with t.
func (c *Controller) tellShadow(ctx context.Context, r *Request, shed *ShedError, cause error, t Ticket) (Ticket, error) {
	told := false
	defer t.releaseUnless(&told)
	c.tellShed(ctx, r, shed, cause, true)
	told = true
	return t, nil
}

// tellTrial tells of a request that a rule or regulator in shadow would have shed,
// and that goes on. A hook that panics must not keep what it took.
func (c *Controller) tellTrial(ctx context.Context, a *ask, r *Request, shed *ShedError, cause error) {
	told := false
	defer func() {
		if !told {
			c.undo(a)
		}
	}()
	c.tellShed(ctx, r, shed, cause, true)
	told = true
}

// releaseUnless is deferred around a hook, which must not keep a ticket by a panic.
func (t Ticket) releaseUnless(told *bool) {
	if !*told {
		t.Release(Ignore)
	}
}
