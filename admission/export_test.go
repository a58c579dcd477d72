package admission

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/spillway-go/spillway/admission/internal/core"
)

// ValidateQuiet checks what must hold of a controller through which nothing
// goes any more: every counter is back at zero and every request is accounted
// for. Most tests end with it.
func ValidateQuiet(tb testing.TB, c *Controller) {
	tb.Helper()
	for _, l := range c.Stats().Lanes {
		if l.Inflight != 0 || l.Overrun != 0 {
			tb.Errorf("lane %s: inflight %d, overrun %d, want none", l.Name, l.Inflight, l.Overrun)
		}
		for t, ts := range l.Tiers {
			if l.Queued[t] != 0 {
				tb.Errorf("lane %s: t%d: %d still queued", l.Name, t, l.Queued[t])
			}
			shed, released := uint64(0), uint64(0)
			for _, n := range ts.Shed {
				shed += n
			}
			for _, n := range ts.Outcomes {
				released += n
			}
			if ts.Arrived != ts.Admitted+shed+ts.Left {
				tb.Errorf("lane %s: t%d: arrived %d, but admitted %d + shed %d + left %d", l.Name, t, ts.Arrived, ts.Admitted, shed, ts.Left)
			}
			if ts.Admitted != released {
				tb.Errorf("lane %s: t%d: admitted %d, released %d", l.Name, t, ts.Admitted, released)
			}
		}
	}
	for _, r := range c.card.Counts() {
		if r.Held != 0 {
			tb.Errorf("rule %s: %d still held", r.Rule, r.Held)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.mu.lanes {
		l.mu.Lock()
		for e := l.mu.free; e != nil; e = e.next {
			if e.call.State == core.Running || e.call.State == core.Waiting || e.entered != 0 || e.guards != 0 || len(e.ready) != 0 {
				tb.Errorf("lane %s: an entry given back is still in use", l.name)
			}
		}
		l.mu.Unlock()
	}
}

// ValidateSlots takes every slot of every lane and checks that there are as
// many as the limit says, not one less and not one more. It says nothing of a
// lane that is closed, rests, or sheds everything by priority.
func ValidateSlots(tb testing.TB, c *Controller) {
	tb.Helper()
	p := c.plan.Load()
	if p.cfg.Mode != Enforce {
		return
	}
	bare := *p // of rules and stages, which may refuse for reasons of their own
	bare.ruled, bare.plain, bare.stages, bare.keyed, bare.guards = false, false, nil, nil, nil
	c.plan.Store(&bare)
	defer c.plan.Store(p)
	for name := range c.Config().Lanes {
		l, _ := c.Stats().Lane(name)
		if l.Mode != Enforce {
			continue
		}
		var taken []Ticket
		var err error
		for len(taken) <= l.Limit && err == nil && !l.Resting {
			var t Ticket
			if t, err = c.TryAdmit(context.Background(), Request{Lane: name, Priority: NewPriority(T0, 0)}); err == nil {
				taken = append(taken, t)
			}
		}
		if why, _ := ReasonOf(err); (err == nil || why == ReasonLimit) && !l.Resting && len(taken) != l.Limit {
			tb.Errorf("lane %s: %d slots to be had, limit is %d", name, len(taken), l.Limit)
		}
		for _, t := range taken {
			t.Release(Ignore)
		}
	}
}

// ReasonOf is the reason of a ShedError; false of any other error.
func ReasonOf(err error) (Reason, bool) {
	var shed *ShedError
	if errors.As(err, &shed) {
		return shed.Reason, true
	}
	return NumReasons, false
}

// NewQuiet returns a controller that is checked and closed when the test ends.
func NewQuiet(tb testing.TB, cfg Config, opts ...Option) *Controller {
	tb.Helper()
	c, err := New(cfg, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ValidateSlots(tb, c)
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
		ValidateQuiet(tb, c)
	})
	return c
}

// Pinned is a config of one lane with a fixed limit and a queue whose
// allowance is the caller's deadline alone: no overload mode, no gate.
func Pinned(limit, queue int) Config {
	l := LaneConfig{Limit: LimitConfig{Fixed: limit}, Gate: GateConfig{Law: "off"}, Deadline: time.Hour}
	l.Queue.Capacity, l.Queue.Law = queue, "codel"
	l.Queue.Target, l.Queue.Interval = 59*time.Minute, time.Hour
	return Config{Lanes: map[string]LaneConfig{"default": l}}
}

// Goroutines counts them, and if there are more than most waits for those that
// are ending: one that has done all that others can see of it is still there until
// its thread has run on. In a bubble no real time can be slept.
func Goroutines(most int) (n int) {
	for range 1_000_000 {
		if n = runtime.NumGoroutine(); n <= most {
			break
		}
		runtime.Gosched()
	}
	return n
}
