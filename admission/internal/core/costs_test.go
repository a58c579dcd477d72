package core

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// served runs n requests of an op through the lane, one after the other, and ticks
// it as it goes.
func served(l *Lane, now time.Duration, op string, n int, service func() time.Duration, o Outcome) time.Duration {
	for range n {
		c := &Call{Rank: 3 * NumCohorts, Op: op, Cost: 1}
		l.Offer(c.Rank, 0, false)
		l.Arrive(now, c, 0.5, false)
		now += service()
		l.Release(now, c, o)
		l.Tick(now, 0.5)
	}
	return now
}

func always(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

// An operation costs its mean service time in medians of the lane, within bounds;
// failures say nothing, and unknown operations cost what they did.
func TestCostsAreLearned(t *testing.T) {
	cfg := pinned(100)
	cfg.MaxCost = 20
	l := newLane(t, cfg)
	now := time.Duration(0)
	for range 20 {
		now = served(l, now, "read", 20, always(10*ms), Success)
		now = served(l, now, "list", 3, always(48*ms), Success)
		now = served(l, now, "scan", 2, always(900*ms), Success)
		now = served(l, now, "broken", 2, always(900*ms), Failure)
		now = served(l, now, "brief", 5, always(ms), Success)
	}
	got, changed := l.Costs()
	if want := map[string]int{"list": 5, "scan": 20}; !changed || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("costs %v, want %v", got, want)
	}
	if _, changed := l.Costs(); changed {
		t.Error("nothing happened, and the costs have changed")
	}
	cfg.MaxCost = 8
	if err := l.Reconfigure(cfg, nil); err != nil {
		t.Fatal(err)
	}
	if got, _ := l.Costs(); got["scan"] != 8 || got["list"] != 5 {
		t.Errorf("with a new bound of 8: %v", got)
	}
	cfg.MaxCost = 0
	if err := l.Reconfigure(cfg, nil); err != nil {
		t.Fatal(err)
	}
	if got, changed := l.Costs(); got != nil || !changed {
		t.Errorf("switched off: %v", got)
	}
	served(l, now, "scan", 100, always(900*ms), Success)
	if got, changed := l.Costs(); got != nil || changed {
		t.Errorf("while off it learned %v", got)
	}
}

// Noise does not move a cost to and fro, and what is learned is bounded.
func TestCostsAreSmoothAndBounded(t *testing.T) {
	const seed = 71
	rng := rand.New(rand.NewPCG(seed, 1))
	cfg := pinned(100)
	cfg.MaxCost = 50
	l := newLane(t, cfg)
	noisy := func(mean time.Duration) func() time.Duration {
		return func() time.Duration { return time.Duration(float64(mean) * (0.5 + rng.Float64())) }
	}
	now, changes := time.Duration(0), 0
	for i := range 300 {
		now = served(l, now, "read", 10, noisy(10*ms), Success)
		now = served(l, now, "half", 2, noisy(25*ms), Success)
		if _, changed := l.Costs(); changed && i >= 50 {
			changes++
		}
	}
	if changes > 5 {
		t.Errorf("the cost of an operation of 2.5 medians changed %d times in 250 rounds (seed %d)", changes, seed)
	}
	for i := range 3 * maxOps {
		now = served(l, now, fmt.Sprint("op", i), 1, always(10*ms), Success)
	}
	if n := len(l.costs.ops); n > maxOps {
		t.Errorf("%d operations are remembered", n)
	}
}
