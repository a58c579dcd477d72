package admission

import (
	"context"
	"math/rand/v2"

	"github.com/spillway-go/spillway/admission/internal/core"
)

// wait blocks until the queue settles the request or its caller leaves. In the
// race between the two nothing is lost: the loser sees under the lock who won,
// and a grant that meets a departed caller goes to the next one.
func (c *Controller) wait(ctx context.Context, e *entry, r *Request) (Ticket, error) {
	select {
	case <-e.ready:
	case <-ctx.Done():
		if c.leave(e, core.Waiting) {
			c.drop(e)
			return Ticket{}, context.Cause(ctx)
		}
		// Settled meanwhile; whoever did it tells us in a moment.
		<-e.ready
	}
	l := e.lane
	if e.call.State == core.Running {
		if ctx.Err() == nil {
			t := e.ticket()
			t.waited = e.call.Waited()
			return c.tellAdmit(ctx, t), nil
		}
		c.leave(e, core.Running)
		c.drop(e)
		return Ticket{}, context.Cause(ctx)
	}
	shed := l.refusals.Load().pick(e.call.Reason, e.call.Rank, r.Attempt, rand.Uint32())
	c.drop(e)
	c.tellShed(ctx, r, shed, nil, false)
	return Ticket{}, shed
}

// leave takes the request out of its lane if it is in the given state there.
func (c *Controller) leave(e *entry, from core.State) bool {
	l, now := e.lane, c.now()
	l.mu.Lock()
	if e.call.State != from {
		l.mu.Unlock()
		return false
	}
	l.mu.core.Leave(now, &e.call)
	settled := l.mu.core.Settled()
	l.mu.Unlock()
	tell(settled)
	return true
}

// drop gives back everything that a request took before it was shed or left. The
// stages come last: one that panics on leaving keeps nobody's counters.
func (c *Controller) drop(e *entry) {
	e.hold.Release()
	c.exitSteps(e, Ignore)
	e.lane.mu.Lock()
	e.lane.putLocked(e)
	e.lane.mu.Unlock()
}
