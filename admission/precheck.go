package admission

import (
	"context"
	"time"
)

// Precheck returns a *[ShedError] of stage "tap" if r is certain to be shed as
// things are: the controller is closed, it would come too late, the gate sheds
// its rank, or neither a slot nor a place in the queue is left for it. It is for
// where a request's content has not been read yet and to read it is dear.
//
// It never waits, takes nothing, and asks no rule, keyed signal, stage or guard.
// Who is shed is counted as by Admit, and once more in LaneStats.Early; of the
// others it leaves no trace, and Admit decides over them. Outside mode [Enforce],
// and of an invalid r, it returns nil.
func (c *Controller) Precheck(ctx context.Context, r Request) error {
	if c == nil || ctx == nil || r.Priority == Exempt {
		return nil
	}
	p := c.plan.Load()
	l := p.lane(r.Lane)
	if l == nil || l.mode() != Enforce || ctx.Err() != nil {
		return nil
	}
	rank := p.rank(&r, c.cohorts.Load())
	why, shed := ReasonClosed, p.closed
	if deadline, ok := ctx.Deadline(); ok && !shed {
		now := c.now()
		why, shed = ReasonDeadline, c.due(deadline, now)-now <= time.Duration(l.expected.Load())
	}
	l.mu.Lock()
	if shed {
		l.mu.core.Refuse(rank, why, false)
	} else {
		why, shed = l.mu.core.Precheck(rank)
	}
	if shed {
		l.mu.early++
	}
	turn := l.turnLocked()
	l.mu.Unlock()
	if !shed {
		return nil
	}
	err := l.refusals.Load().tap().pick(why, rank, r.Attempt, turn)
	c.tellShed(ctx, &r, err, nil, false)
	return err
}

// tap has the same refusals, of stage "tap". They are made when first needed:
// most controllers have nobody who prechecks.
func (t *refusals) tap() *refusals {
	early := t.early.Load()
	if early == nil {
		early = newRefusals(t.lane, t.base, t.binding)
		for r := range NumReasons {
			early.never[r].Stage = "tap"
			for _, e := range early.errs[r] {
				e.Stage = "tap"
			}
		}
		t.early.Store(early)
	}
	return early
}
