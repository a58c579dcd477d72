package core

import (
	"testing"
	"time"
)

// The lane's own ratio sheds nobody while nobody waits and a quarter of the slots
// is free; what a signal asks for is shed all the same.
func TestOfferWithFreeSlots(t *testing.T) {
	const rank = 3 * NumCohorts
	for _, tc := range []struct {
		why         string
		own, signal float64
		running     int // of 8 slots
		waiting     int
		shed        bool
	}{
		{"open", 0, 0, 8, 3, false},
		{"all slots taken", 0.99, 0, 8, 0, true},
		{"a quarter is kept for better ranks", 0.99, 0, 6, 0, true},
		{"more are free", 0.99, 0, 5, 0, false},
		{"none is taken", 0.99, 0, 0, 0, false},
		{"somebody waits for slots he can have", 0.99, 0, 5, 1, true},
		{"a signal asks", 0, 0.99, 0, 0, true},
		{"both ask", 0.99, 0.99, 0, 0, true},
	} {
		l := newLane(t, pinned(8))
		for range 1000 {
			l.gate.offer(rank, 1<<31)
		}
		l.gate.set(tc.own, tc.signal)
		for range tc.running {
			l.Arrive(0, &Call{Rank: rank, Cost: 1}, 0.5, true)
		}
		for range tc.waiting {
			l.enqueue(&Call{Rank: rank, Cost: 1}, 0.5)
		}
		if got := l.Offer(rank, 1<<30, false); got != tc.shed {
			t.Errorf("%s: shed is %v", tc.why, got)
		}
	}
}

// A burst that is over costs little more, whatever the law: the ratio is late,
// the slots are not.
func TestGateAfterABurst(t *testing.T) {
	for _, tc := range []struct {
		law     string
		service time.Duration
		most    float64 // shed by the gate in the two seconds after it; without an eye on the slots 0.05, 0.14, 0.14
	}{
		{"ff", 2 * ms, 0.03},
		{"pid", 2 * ms, 0.09},
		{"pid", 100 * ms, 0.11},
	} {
		cfg := pinned(16)
		cfg.Gate.Law = tc.law
		s := newSim(t, cfg, 3)
		s.service = func() time.Duration { return s.exp(tc.service) }
		rate := 16 / tc.service.Seconds()
		s.run(5*time.Second, 0.7*rate)
		s.run(3*time.Second, 5*rate)
		offered, gated := s.offered, s.gated
		s.run(2*time.Second, 0.7*rate)
		if share := float64(s.gated-gated) / float64(s.offered-offered); share > tc.most {
			t.Errorf("%s, %v: %.3f of what came after the burst was shed, want %v at most", tc.law, tc.service, share, tc.most)
		}
	}
}

// The gate's law changes while the lane runs: what was shed goes on being shed.
func TestGateChangesLaw(t *testing.T) {
	cfg := pinned(50)
	s := newSim(t, cfg, 4)
	least, most := 1.0, 0.0
	s.tick = func() { least, most = min(least, s.lane.ShedRatio()), max(most, s.lane.ShedRatio()) }
	for _, act := range []struct {
		law         string
		least, most float64 // the ratio from the change on, at three times the capacity
	}{
		{"ff", 0, 0.75},
		{"pid", 0.5, 0.75},
		{"ff", 0.4, 0.75},
		{"pid", 0.5, 0.75},
		{"off", 0, 0.7},
	} {
		cfg.Gate.Law = act.law
		if err := s.lane.Reconfigure(cfg, nil); err != nil {
			t.Fatal(err)
		}
		least, most = 1, 0
		s.run(10*time.Second, 1500)
		if least < act.least || most > act.most {
			t.Errorf("%s: ratio went from %.2f to %.2f, want %.2f to %.2f", act.law, least, most, act.least, act.most)
		}
	}
	if got := s.lane.ShedRatio(); got != 0 {
		t.Errorf("off: sheds %.2f", got)
	}
	cfg.Gate.Law = "magic"
	if err := s.lane.Reconfigure(cfg, nil); err == nil {
		t.Error("an unknown law is no error")
	}
}
