package admission

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/admission/internal/core"
)

// edgePeriod is how far apart two lines about the same thing are at least: what
// flaps must not flood the log.
const edgePeriod = 10 * time.Second

// edges is what is told of a lane in the log; the loop's.
type edges struct {
	shedding core.Episode
	floor    floor
}

// floor tells when a limit has been at its lower bound, with all slots taken, for
// so long that it is no passing dip, and when it has left it.
type floor struct {
	at    bool          // as told
	since time.Duration // what is seen differs from that since then; 0: it does not
}

// step tells whether that has changed.
func (f *floor) step(now time.Duration, at bool) bool {
	switch {
	case at == f.at:
		f.since = 0
	case f.since == 0:
		f.since = now
	case now-f.since >= edgePeriod:
		f.at, f.since = at, 0
		return true
	}
	return false
}

// tellEdges logs what has begun or ended with a tick.
func (c *Controller) tellEdges(l *lane, now time.Duration) {
	l.mu.Lock()
	k := l.mu.core
	tally, limit, bound, binding := k.Tally(), k.Limit(), k.Bound(), k.Binding()
	l.mu.Unlock()
	edge, lasted, sum := l.edges.shedding.Step(now, tally)
	c.tellShedding(l, edge, lasted, &sum, binding)
	cfg := c.plan.Load().cfg.Lanes[l.name].Limit
	least := cfg.Min
	if cfg.Fixed > 0 || c.opts.limits[l.name] != nil {
		least = 0 // it is where somebody wants it
	}
	if !l.edges.floor.step(now, limit <= least && bound) {
		return
	}
	level, what := slog.LevelWarn, "limit at its floor"
	if !l.edges.floor.at {
		level, what = slog.LevelInfo, "limit left its floor"
	}
	c.opts.logger.LogAttrs(context.Background(), level, what, slog.String("lane", l.name), slog.Int("limit", limit), slog.Int("min", least))
}

// endShedding is for a lane that is looked at no more.
func (c *Controller) endShedding(l *lane) {
	edge, lasted, sum := l.edges.shedding.End()
	c.tellShedding(l, edge, lasted, &sum, "")
}

var edgeNames = [...]string{core.Began: "shedding began", core.GoesOn: "shedding goes on", core.Ended: "shedding ended"}

// tellShedding tells of an episode: when it ends, and now and then before, with
// what was shed by tier and reason.
func (c *Controller) tellShedding(l *lane, edge core.Edge, lasted time.Duration, sum *core.Tally, binding string) {
	if edge == core.NoEdge {
		return
	}
	attrs := []slog.Attr{slog.String("lane", l.name)}
	if mode := l.mode(); mode != Enforce {
		attrs = append(attrs, slog.String("mode", mode.String()))
	}
	if binding != "" {
		attrs = append(attrs, slog.String("binding", binding))
	}
	if edge != core.Began {
		attrs = append(attrs, slog.Duration("lasted", lasted.Round(time.Millisecond)), slog.Uint64("arrived", sum.Arrived))
	}
	attrs = append(attrs, slog.Uint64("shed", sum.Shed),
		counts("tiers", sum.Tiers[:], func(i int) string { return Tier(i).String() }),
		counts("reasons", sum.Reasons[:], func(i int) string { return Reason(i).String() }))
	c.opts.logger.LogAttrs(context.Background(), slog.LevelInfo, edgeNames[edge], attrs...)
}

// counts are those that are not zero.
func counts(name string, of []uint64, names func(int) string) slog.Attr {
	var attrs []slog.Attr
	for i, n := range of {
		if n > 0 {
			attrs = append(attrs, slog.Uint64(names(i), n))
		}
	}
	return slog.GroupAttrs(name, attrs...)
}

// throttle lets one through in edgePeriod. It is safe for concurrent use.
type throttle struct{ next atomic.Int64 }

func (t *throttle) pass(now time.Duration) bool {
	next := t.next.Load()
	return int64(now) >= next && t.next.CompareAndSwap(next, int64(now+edgePeriod))
}
