package admission

import "context"

// gateShed ends the way of a request that the gate shed; the lane is locked.
func (c *Controller) gateShed(ctx context.Context, a *ask, r Request) (Ticket, error) {
	l := a.lane
	shed := l.refusals.Load().pick(ReasonPriority, a.rank, r.Attempt)
	t, ghost := Ticket{}, a.ghost
	if ghost {
		t = c.unslottedLocked(a, r)
	}
	wake := l.wakeLocked()
	l.mu.Unlock()
	if wake {
		c.wake()
	}
	if ghost {
		return c.tellShadow(ctx, r, shed, nil, t)
	}
	c.undo(a)
	c.tellShed(ctx, r, shed, nil, false)
	return Ticket{}, shed
}

// refuse sheds a request that has not come to the gate.
func (c *Controller) refuse(ctx context.Context, a *ask, r Request, why Reason, cause error) (Ticket, error) {
	return c.refused(ctx, a, r, a.lane.refusals.Load().pick(why, a.rank, r.Attempt), cause)
}

func (c *Controller) refused(ctx context.Context, a *ask, r Request, shed *ShedError, cause error) (Ticket, error) {
	l, ghost := a.lane, a.ghost
	t := Ticket{}
	l.mu.Lock()
	l.mu.core.Refuse(a.rank, shed.Reason, ghost)
	if ghost {
		t = c.unslottedLocked(a, r)
	}
	wake := l.mu.asleep && l.wakeLocked()
	l.mu.Unlock()
	if wake { // what is shed shows in logs and on the page only while the loop runs
		c.wake()
	}
	if ghost {
		return c.tellShadow(ctx, r, shed, cause, t)
	}
	c.undo(a)
	c.tellShed(ctx, r, shed, cause, false)
	return Ticket{}, shed
}

// unslottedLocked lets a request run in shadow that would have been shed.
func (c *Controller) unslottedLocked(a *ask, r Request) Ticket {
	e := a.e
	if e == nil {
		e = a.lane.takeLocked(c)
	}
	e.describe(a, r.Op, r.Stream)
	a.lane.mu.core.Unslotted(&e.call)
	return Ticket{e: e, gen: e.gen.Load()}
}

// undo gives back what a request took before it was shed. The stages come
// last: one that panics on leaving keeps nobody's counters.
func (c *Controller) undo(a *ask) {
	a.hold.Release()
	if e := a.e; e != nil {
		c.exitSteps(e, Ignore)
		a.lane.mu.Lock()
		a.lane.putLocked(e)
		a.lane.mu.Unlock()
	}
}

func (c *Controller) tellShed(ctx context.Context, r Request, shed *ShedError, cause error, shadow bool) {
	sample, hook := c.sheds.wants(shed.Reason), c.opts.hooks.Shed
	if !sample && hook == nil {
		return
	}
	priority := priorityOf(c.plan.Load().rank(&r, c.cohorts.Load()))
	if sample {
		c.sheds.take(c.start.Add(c.now()), &r, priority, shed, cause, shadow)
	}
	if hook != nil {
		hook(ctx, Refusal{Request: r, Priority: priority, Err: shed, Cause: cause, Shadow: shadow})
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
func (c *Controller) tellShadow(ctx context.Context, r Request, shed *ShedError, cause error, t Ticket) (Ticket, error) {
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
	c.tellShed(ctx, *r, shed, cause, true)
	told = true
}

// releaseUnless is deferred around a hook, which must not keep a ticket by a panic.
func (t Ticket) releaseUnless(told *bool) {
	if !*told {
		t.Release(Ignore)
	}
}
