package admission

import (
	"context"
	"fmt"
	"log/slog"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/regulators"
)

// guard stands in each request's way. One that panics is counted and fails open:
// what takes part in every request must not be able to refuse them all by a
// mistake.
type guard struct {
	name   string
	source regulators.Guard

	refused, panics atomic.Uint64
	broken          atomic.Pointer[error] // the last Enter or Exit panicked
	told            atomic.Bool           // and the log knows it
	failing         throttle
}

// maxGuards is how many a request can hold at once: it remembers them in the bits
// of a word.
const maxGuards = 64

// enterGuards asks the guards, in the order of their names. It returns the one
// that refuses and what it said; those entered are in e.guards.
func (c *Controller) enterGuards(ctx context.Context, a *ask, now time.Time) (*boundGuard, error) {
	e := a.e
	for i := range e.plan.guards {
		b := &e.plan.guards[i]
		if !b.binds(e.lane) {
			continue
		}
		ok, err := c.enterGuard(b, now, e)
		if err != nil {
			b.refused.Add(1)
			if !b.cfg.Shadow {
				return b, err
			}
			shed := b.errs.wrap(e.lane, b.name, b.refusal, err, a.rank, e.request.Attempt)
			c.tellShed(ctx, &e.request, shed, err, true) // if it panics, enterSteps undoes
		}
		if ok {
			e.guards |= 1 << i
		}
	}
	return nil, nil
}

// enterGuard tells whether the guard was entered, which it was not when it
// panicked, and why it refuses.
func (c *Controller) enterGuard(b *boundGuard, now time.Time, e *entry) (ok bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			c.guardPanicked(b.guard, "Enter", v)
			ok, err = false, nil
		}
	}()
	err = b.source.Enter(now, actorOf(&e.request, b.by), e.amount(b.counts))
	if b.broken.Load() != nil && b.broken.Swap(nil) != nil && b.told.Swap(false) {
		c.opts.logger.LogAttrs(context.Background(), slog.LevelInfo, "guard works again", slog.String("guard", b.name))
	}
	return err == nil, err
}

// exitGuards gives back what the guards took, last first.
func (c *Controller) exitGuards(e *entry) {
	for e.guards != 0 {
		i := bits.Len64(e.guards) - 1
		e.guards &^= 1 << i
		c.exitGuard(&e.plan.guards[i], e)
	}
}

func (c *Controller) exitGuard(b *boundGuard, e *entry) {
	defer func() {
		if v := recover(); v != nil {
			c.guardPanicked(b.guard, "Exit", v)
		}
	}()
	b.source.Exit(actorOf(&e.request, b.by), e.amount(b.counts))
}

func (c *Controller) guardPanicked(g *guard, where string, v any) {
	g.panics.Add(1)
	err := fmt.Errorf("%s panicked: %v", where, v)
	if g.broken.Swap(&err) == nil && g.failing.pass(c.now()) {
		g.told.Store(true)
		c.opts.logger.LogAttrs(context.Background(), slog.LevelWarn, "guard fails open", slog.String("guard", g.name), slog.Any("err", err))
	}
}

// amount is how much of what a guard counts the request takes. A stage may have
// written anything into it.
func (e *entry) amount(counts string) int64 {
	switch counts {
	case countCost:
		return int64(e.cost)
	case countSize:
		return max(e.request.Bytes, 0)
	}
	return 1
}

func (g *boundGuard) stats() GuardStats {
	st := GuardStats{Name: g.name, Shadow: g.cfg.Shadow, Refused: g.refused.Load(), Panics: g.panics.Load()}
	if err := g.broken.Load(); err != nil {
		st.Err = *err
	}
	return st
}
