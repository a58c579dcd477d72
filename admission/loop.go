package admission

import (
	"context"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/spillway-go/spillway/admission/internal/core"
)

// loop is the controller's one goroutine: it ticks the lanes, expires waiters
// and steps the signals. One timer serves all of it. An idle controller sleeps
// until somebody comes.
func (c *Controller) loop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	swept := time.Duration(0)
	for {
		select {
		case <-c.done:
			return
		case <-c.poke:
		case <-timer.C:
		}
		now := c.now()
		if now-swept >= sweepPeriod {
			swept = now
			c.card.Sweep(c.start.Add(now))
			c.cohorts.Store(cohortEpoch(time.Now()))
		}
		wake := c.stepSignals(now)
		var probing []*lane
		for _, l := range c.serving() {
			at, began := c.turn(l, now)
			wake = min(wake, at)
			if began {
				probing = append(probing, l)
			}
		}
		c.pressed()
		c.join(probing, now)
		c.remember(now)
		if wake < forever {
			timer.Reset(max(wake-c.now(), 0))
		} else {
			timer.Stop()
		}
	}
}

// sweepPeriod is how long a tenant must be idle to be forgotten, twice at most.
const sweepPeriod = time.Second

const forever = time.Duration(math.MaxInt64)

// serving lists the lanes and forgets those that were removed and have drained.
func (c *Controller) serving() []*lane {
	serving, gone := c.drained()
	for _, l := range gone {
		c.endShedding(l)
	}
	return serving
}

func (c *Controller) drained() (serving, gone []*lane) {
	c.mu.Lock()
	defer c.mu.Unlock()
	lanes := c.plan.Load().lanes
	for _, l := range c.mu.lanes {
		if lanes[l.name] == l {
			continue
		}
		l.mu.Lock()
		if l.mu.core.Idle() {
			gone = append(gone, l)
		}
		l.mu.Unlock()
	}
	if len(gone) > 0 {
		c.mu.lanes = slices.DeleteFunc(slices.Clone(c.mu.lanes), func(l *lane) bool { return slices.Contains(gone, l) })
	}
	return c.mu.lanes, gone
}

// sleepAfter is how long a lane must be idle before its ticks pause. Long
// enough that a service of one request in a few seconds still has a steady
// loop, for a pause discards what the limit's law was measuring.
const sleepAfter = 15 * time.Second

// join lets the other lanes measure too when some have begun to.
func (c *Controller) join(probing []*lane, now time.Duration) {
	if len(probing) == 0 {
		return
	}
	for _, l := range c.serving() {
		if slices.Contains(probing, l) {
			continue
		}
		l.mu.Lock()
		l.mu.core.Join(now)
		l.mu.Unlock()
	}
}

// turn does what is due in a lane. It returns when the lane wants to be seen
// next, and whether it has begun to measure at a lowered limit.
func (c *Controller) turn(l *lane, now time.Duration) (at time.Duration, probing bool) {
	l.mu.Lock()
	k := l.mu.core
	if l.mu.asleep {
		l.mu.Unlock()
		return forever, false
	}
	ticked := l.tickLocked(now)
	settled := k.Settled()
	if ticked && k.IdleFor() > sleepAfter {
		l.mu.asleep, l.mu.wake = true, forever
		l.mu.free = nil // what a burst took
		l.expected.Store(0)
	}
	at, probing = l.mu.wake, ticked && k.ProbeBegan()
	from, to, why := l.mu.limit, k.Limit(), k.LimitWhy()
	l.mu.limit = to
	if from != to { // under the lock, or it could undo what Apply has set since
		c.card.SetLimitLocked(l.name, to)
	}
	costs, learned := k.Costs()
	ratio, binding, hint := k.ShedRatio(), k.Binding(), k.RetryAfter()
	l.mu.Unlock()
	tell(settled)
	if learned {
		l.costs.Store(&costs)
	}
	if ticked {
		c.publish(l, ratio, binding, hint)
		c.tellEdges(l, now)
	}
	if from != to && from != 0 {
		c.tellLimit(LimitMove{Lane: l.name, From: from, To: to, Why: why})
	}
	return at, probing
}

// tickLocked ticks the lane if that is due, else expires its waiters, and sets
// when to look again.
func (l *lane) tickLocked(now time.Duration) (ticked bool) {
	k := l.mu.core
	if now >= k.TickedAt()+core.TickPeriod {
		k.Tick(now, l.chanceLocked())
		l.expected.Store(int64(k.Expected()))
		l.ticked.Store(int64(now))
		if rush := k.Rush(); rush != l.rush.Load() {
			l.rush.Store(rush)
		}
		ticked = true
	} else {
		k.Expire(now)
	}
	l.mu.wake = k.TickedAt() + core.TickPeriod
	if at, ok := k.NextExpiry(); ok {
		l.mu.wake = min(l.mu.wake, at)
	}
	return ticked
}

// publish makes what a tick has found visible where no lock is taken.
func (c *Controller) publish(l *lane, ratio float64, binding string, hint time.Duration) {
	open := ratio == 0
	if was := l.open.Swap(open); was != open {
		c.tellGate(GateEdge{Lane: l.name, Ratio: ratio, Binding: binding})
	}
	if t := l.refusals.Load(); t.base != hint || binding != "" && t.binding != binding {
		l.refusals.Store(newRefusals(l.name, hint, binding))
	}
}

func (c *Controller) tellLimit(m LimitMove) {
	c.opts.logger.LogAttrs(context.Background(), slog.LevelDebug, "limit moved",
		slog.String("lane", m.Lane), slog.Int("from", m.From), slog.Int("to", m.To), slog.String("why", m.Why))
	if c.opts.hooks.Limit != nil {
		c.opts.hooks.Limit(m)
	}
}

func (c *Controller) tellGate(g GateEdge) {
	what := "gate sheds"
	if g.Ratio == 0 {
		what = "gate is open"
	}
	c.opts.logger.LogAttrs(context.Background(), slog.LevelDebug, what,
		slog.String("lane", g.Lane), slog.Float64("ratio", g.Ratio), slog.String("binding", g.Binding))
	if c.opts.hooks.Gate != nil {
		c.opts.hooks.Gate(g)
	}
}

// pressed tells the scorecard whether any lane sheds. One in shadow presses nobody
// in the others; where all are, the rules are tried as if they shed.
func (c *Controller) pressed() {
	p, shedding := c.plan.Load(), false
	for _, l := range p.lanes {
		shedding = shedding || !l.open.Load() && l.mode() == p.cfg.Mode
	}
	if shedding != c.shedding {
		c.shedding = shedding
		c.card.SetPressed(shedding)
	}
}
