package admissiontest

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/codel"
)

// Pinned is a lane of a fixed limit whose waiters wait as long as a test likes.
func Pinned(limit, queue int) admission.LaneConfig {
	return admission.LaneConfig{
		Limit:    admission.LimitConfig{Fixed: limit},
		Queue:    codel.Config{Capacity: queue},
		Gate:     admission.GateConfig{Law: "off"},
		Deadline: time.Hour,
	}
}

// Only is a config with l for its only lane.
func Only(l admission.LaneConfig) admission.Config {
	return admission.Config{Lanes: map[string]admission.LaneConfig{"default": l}}
}

// Control starts a controller for the length of the test, at whose end nothing
// may be left of any request: all that began was settled, once.
func Control(t testing.TB, cfg admission.Config, opts ...admission.Option) *admission.Controller {
	t.Helper()
	c, err := admission.New(cfg, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		Quiet(t, c)
	})
	return c
}

// Quiet checks that nothing is left of any request.
func Quiet(t testing.TB, c *admission.Controller) {
	t.Helper()
	stats := c.Stats()
	for _, l := range stats.Lanes {
		if l.Inflight != 0 || l.Overrun != 0 {
			t.Errorf("lane %s: inflight %d, overrun %d, want none", l.Name, l.Inflight, l.Overrun)
		}
		for tier, ts := range l.Tiers {
			if n := ts.Admitted + Total(ts.Shed[:]) + ts.Left; ts.Arrived != n || l.Queued[tier] != 0 {
				t.Errorf("lane %s, t%d: %d arrived, %d settled, %d queued", l.Name, tier, ts.Arrived, n, l.Queued[tier])
			}
			if n := Total(ts.Outcomes[:]); ts.Admitted != n {
				t.Errorf("lane %s, t%d: %d admitted, %d released", l.Name, tier, ts.Admitted, n)
			}
		}
	}
	for _, r := range stats.Rules {
		if r.Held != 0 {
			t.Errorf("rule %s: %d held, want none", r.Rule, r.Held)
		}
	}
}

// Total is the sum of counts.
func Total(ns []uint64) (sum uint64) {
	for _, n := range ns {
		sum += n
	}
	return sum
}

// Counts adds up the tiers of the default lane.
func Counts(c *admission.Controller) (sum admission.TierStats) {
	l, _ := c.Stats().Lane("default")
	for _, ts := range l.Tiers {
		sum.Arrived += ts.Arrived
		sum.Admitted += ts.Admitted
		sum.Left += ts.Left
		for i, n := range ts.Shed {
			sum.Shed[i] += n
		}
		for i, n := range ts.Outcomes {
			sum.Outcomes[i] += n
		}
	}
	return sum
}

// Hold takes a slot that is not the middleware's.
func Hold(t testing.TB, c *admission.Controller) admission.Ticket {
	t.Helper()
	ticket, err := c.TryAdmit(context.Background(), admission.Request{})
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

// Fill has n requests wait in the queue until the returned function is called.
// They are of the best tier, or a newcomer could take their place.
func Fill(t testing.TB, c *admission.Controller, n int) (leave func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var waiters sync.WaitGroup
	for range n {
		waiters.Go(func() {
			ticket, _ := c.Admit(ctx, admission.Request{Priority: admission.NewPriority(admission.T0, 0)})
			ticket.Release(admission.Ignore)
		})
	}
	for queued := 0; queued < n; {
		runtime.Gosched()
		l, _ := c.Stats().Lane("default")
		queued = l.Queued[admission.T0]
	}
	return func() {
		cancel()
		waiters.Wait()
	}
}
