package admission

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"time"

	"github.com/spillway-go/spillway/admission/internal/core"
	"github.com/spillway-go/spillway/scorecard"
)

// Admit decides over a request: it returns a ticket to run it, at once or
// after a wait in its lane's queue, or an error. The ticket must be released.
//
// Errors: a *[ShedError] (errors.Is [ErrShed]) when the request is refused for
// load; the cause of ctx when the caller left; any other means that r itself
// is wrong (unknown lane, negative cost). Admit waits no longer than the
// lane's allowance, which is shorter than what ctx leaves, and allocates
// nothing when it does not wait and no stage is set. A nil Controller and mode
// [Off] admit everything.
func (c *Controller) Admit(ctx context.Context, r Request) (Ticket, error) {
	return c.admit(ctx, &r, true)
}

// TryAdmit is Admit without the queue: where Admit would wait it is refused
// with [ReasonLimit].
func (c *Controller) TryAdmit(ctx context.Context, r Request) (Ticket, error) {
	return c.admit(ctx, &r, false)
}

// Do runs fn if r is admitted, and releases. The outcome follows from fn's
// error: nil is Success, DeadlineExceeded is Overload, Canceled is Ignore, any
// other is Failure. A panic in fn releases as Failure and goes on.
func (c *Controller) Do(ctx context.Context, r Request, fn func(context.Context) error) error {
	if fn == nil {
		return errors.New("admission: Do: fn is nil")
	}
	t, err := c.Admit(ctx, r)
	if err != nil {
		return err
	}
	outcome := Failure // unless fn returns
	defer func() { t.Release(outcome) }()
	err = fn(ctx)
	outcome = outcomeOf(err)
	return err
}

var errNilContext = errors.New("admission: ctx is nil")

func outcomeOf(err error) Outcome {
	switch {
	case err == nil:
		return Success
	case errors.Is(err, context.DeadlineExceeded):
		return Overload
	case errors.Is(err, context.Canceled):
		return Ignore
	}
	return Failure
}

// ask is a request on its way.
type ask struct {
	plan  *plan
	lane  *lane
	ghost bool // it runs whatever is decided, which is only counted
	rank  int
	cost  int
	now   time.Duration // core.Untimed: the clock was not read yet
	due   time.Duration // 0: no deadline
	e     *entry        // taken early, for stages and for what rules count

	unasked bool // the rules are asked where the gate is, under one lock
}

func (c *Controller) admit(ctx context.Context, r *Request, wait bool) (Ticket, error) {
	if c == nil {
		return Ticket{}, nil
	}
	p := c.plan.Load()
	if p.cfg.Mode == Off {
		return Ticket{}, nil
	}
	if r.Priority == Exempt {
		c.exempt.Add(1)
		return Ticket{}, nil
	}
	if ctx == nil {
		return Ticket{}, errNilContext
	}
	a := ask{plan: p, now: core.Untimed}
	if a.lane = p.lane(r.Lane); a.lane == nil || r.Cost < 0 || r.Bytes < 0 || r.Attempt < 0 {
		return Ticket{}, p.complain(r)
	}
	switch a.lane.mode() {
	case Off:
		return Ticket{}, nil
	case Shadow:
		a.ghost = true
	}
	var whole bool
	if a.rank, whole = r.Priority.wholeRank(); !whole {
		a.rank = p.rank(r, c.cohorts.Load())
	}
	a.cost = a.lane.cost(r)
	if p.closed {
		return c.refuse(ctx, &a, r, ReasonClosed, nil)
	}

	deadline, hasDeadline := ctx.Deadline()
	if err := ctx.Err(); err != nil {
		return c.doneOnArrival(ctx, &a, r, err)
	}
	if hasDeadline && c.tooLate(&a, deadline) {
		return c.refuse(ctx, &a, r, ReasonDeadline, nil)
	}
	if a.unasked = p.plain && len(r.Tags) == 0 && !a.ghost; !a.unasked {
		if t, over, err := c.askFirst(ctx, &a, r); over {
			return t, err
		}
	}
	return c.arrive(ctx, &a, r, wait)
}

// askFirst asks all that comes before the gate, one after the other. It tells whether
// the request's way is over.
func (c *Controller) askFirst(ctx context.Context, a *ask, r *Request) (t Ticket, over bool, err error) {
	p := a.plan
	if p.ruled {
		if full := c.acquire(ctx, a, r); full != nil {
			t, err = c.refuse(ctx, a, r, ReasonTenantCap, full)
			return t, true, err
		}
	}
	if len(p.keyed) > 0 {
		if b := c.press(ctx, a, r); b != nil {
			t, err = c.refused(ctx, a, r, b.errs.wrap(a.lane, b.name, ReasonKeyed, errPressed, a.rank, r.Attempt), nil)
			return t, true, err
		}
	}
	if len(p.stages)+len(p.guards) > 0 {
		if shed, cause := c.enterSteps(ctx, a, r); shed != nil {
			t, err = c.refused(ctx, a, r, shed, cause)
			return t, true, err
		}
	}
	return Ticket{}, false, nil
}

// tooLate sets when the request is due, and tells whether it could not be done by
// then. What is far from that by the time of the last tick needs no better one.
func (c *Controller) tooLate(a *ask, deadline time.Time) bool {
	l := a.lane
	expected := time.Duration(l.expected.Load())
	if l.rush.Load() && monotonic(deadline) {
		a.due = max(deadline.Sub(c.start), 1)
		if a.due-time.Duration(l.ticked.Load()) > expected+farOff {
			return false
		}
	}
	a.now = c.now()
	a.due = c.due(deadline, a.now)
	return a.due-a.now <= expected
}

// farOff is how late a tick may be for its time to serve as the present.
const farOff = time.Second

func monotonic(t time.Time) bool { return t.Round(0) != t }

// due is when a deadline is, at least 1. One without a monotonic reading means
// the wall clock as it is now, which may have been set since the start.
func (c *Controller) due(deadline time.Time, now time.Duration) time.Duration {
	if monotonic(deadline) {
		return max(deadline.Sub(c.start), 1)
	}
	return max(now+min(time.Until(deadline), math.MaxInt64-now), 1)
}

// doneOnArrival: a deadline that has passed is load's doing, or nobody's; a
// caller who cancelled has left.
func (c *Controller) doneOnArrival(ctx context.Context, a *ask, r *Request, err error) (Ticket, error) {
	if errors.Is(err, context.DeadlineExceeded) {
		return c.refuse(ctx, a, r, ReasonDeadline, nil)
	}
	a.lane.mu.Lock()
	a.lane.mu.core.Gone(a.rank)
	a.lane.mu.Unlock()
	return Ticket{}, context.Cause(ctx)
}

// acquire takes the scorecard's counters, into an entry that it takes for it.
func (c *Controller) acquire(ctx context.Context, a *ask, r *Request) (full *scorecard.CapError) {
	if len(r.Tags) == 0 { // not to clear the room for them
		var buf [numTags]scorecard.Tag
		full = c.acquireTags(a, tagsOf(buf[:0], a, r))
	} else {
		var buf [16]scorecard.Tag
		full = c.acquireTags(a, tagsOf(buf[:0], a, r))
	}
	if trial := a.e.hold.Shadowed(); trial != nil {
		c.tellTrial(ctx, a, r, a.lane.refusals.Load().pick(ReasonTenantCap, a.rank, r.Attempt, rand.Uint32()), trial)
	}
	return full
}

func (c *Controller) acquireTags(a *ask, tags []scorecard.Tag) *scorecard.CapError {
	l := a.lane
	l.mu.Lock()
	defer l.mu.Unlock()
	a.e = l.takeLocked(c)
	return l.mu.AcquireLocked(tags, &a.e.hold)
}

const numTags = 5 // of every request

// formsOf are those of requests in a lane, by tier.
func formsOf(card *scorecard.Card, lane string) (forms [NumTiers]*scorecard.Form) {
	for tier := range forms {
		forms[tier] = card.NewForm([]string{"tenant", "caller", "op"},
			scorecard.Tag{Key: "lane", Value: lane}, scorecard.Tag{Key: "tier", Value: tierNames[tier]})
	}
	return forms
}

// tagsOf appends what rules are told of a request.
func tagsOf(tags []scorecard.Tag, a *ask, r *Request) []scorecard.Tag {
	tags = append(tags,
		scorecard.Tag{Key: "tenant", Value: r.Tenant},
		scorecard.Tag{Key: "caller", Value: r.Caller},
		scorecard.Tag{Key: "op", Value: r.Op},
		scorecard.Tag{Key: "lane", Value: a.lane.name},
		scorecard.Tag{Key: "tier", Value: tierNames[a.rank/NumCohorts]},
	)
	return append(tags, r.Tags...)
}

var tierNames = [NumTiers]string{"t0", "t1", "t2", "t3", "t4", "t5"}
