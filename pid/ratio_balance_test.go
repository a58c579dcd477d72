package pid_test

import (
	"math"
	"testing"

	"github.com/spillway-go/spillway/pid"
)

// lawed is a shed ratio with a law.
func lawed(t *testing.T, law string) *pid.ShedRatio {
	t.Helper()
	var s pid.ShedRatio
	if err := s.SetConfig(pid.GateConfig{Law: law}); err != nil {
		t.Fatal(err)
	}
	return &s
}

// shed offers a lane of 50 slots and 500 requests/s so many times what it can do
// and keeps to the ratio: what passes beyond 50 a period is lost.
func shed(s *pid.ShedRatio, periods int, x float64) float64 {
	for range periods {
		f := period(x)
		offered := float64(f.In)
		pass := math.Round(offered * (1 - s.Ratio()))
		f.In, f.Rejected, f.Out = uint64(pass), uint64(offered-pass), uint64(min(pass, 50))
		f.Lost = f.In - f.Out
		f.Inflight, f.Queued = float64(f.Out), int(f.Lost)
		s.Tick(pid.RatioPeriod, f)
	}
	return s.Ratio()
}

// In a closed loop it comes to what is too much, at any load in the same time:
// that is what the error's unit is for.
func TestBalanceTimeline(t *testing.T) {
	s := lawed(t, "pid")
	for _, act := range []struct {
		why     string
		periods int
		x, want float64
	}{
		{"0.9x: open", 50, 0.9, 0},
		{"2x: half of it", 20, 2, 0.5},
		{"10x", 20, 10, 0.9},
		{"and on", 100, 10, 0.9},
		{"3x", 20, 3, 0.667},
		{"0.9x", 20, 0.9, 0},
	} {
		if got := shed(s, act.periods, act.x); math.Abs(got-act.want) > 0.03 {
			t.Errorf("%s: ratio is %.3f, want %.3f", act.why, got, act.want)
		}
	}
	shed(s, 50, 5)
	for _, act := range []struct {
		why  string
		n    int
		flow pid.Flow
		want float64
	}{
		{"a limit that is measuring: holds", 20, pid.Flow{In: 200, Limit: 25, Inflight: 25, Queued: 200, Probing: true}, 0.8},
		{"nothing comes: decays", 10, pid.Flow{Limit: 50}, 0},
		{"a standing queue, nothing else wrong", 5, pid.Flow{In: 50, Out: 50, Limit: 50, Inflight: 50, Queued: 500}, 0.8},
		{"resting: open, nothing is let through anyway", 1, pid.Flow{In: 500, Queued: 200}, 0},
		{"and not wound up", 1, pid.Flow{In: 50, Out: 50, Limit: 50, Inflight: 50}, 0},
		{"capacity unknown, swamped: never all", 50, pid.Flow{In: 500, Limit: 50, Inflight: 50, Queued: 200}, 0.99},
	} {
		if got := ticks(s, act.n, act.flow); math.Abs(got-act.want) > 0.03 {
			t.Errorf("%s: ratio is %.3f, want %.2f", act.why, got, act.want)
		}
	}
}

// Slots that turn over many times a period must count for as many requests, or
// the law would take ten seconds to open after a burst.
func TestBalanceOpensAfterABurstOfShortRequests(t *testing.T) {
	s := lawed(t, "pid")
	flood := pid.Flow{In: 800, Rejected: 3200, Out: 800, Limit: 16, Inflight: 16, Queued: 20}
	ticks(s, 50, pid.Flow{In: 4000, Out: 800, Limit: 16, Inflight: 16, Queued: 64})
	if got := ticks(s, 1, flood); got < 0.8 {
		t.Fatalf("sheds %.2f of a flood", got)
	}
	calm := func(ratio float64) pid.Flow {
		in := 560 * (1 - ratio) // 0.7 of the capacity
		return pid.Flow{In: uint64(in), Rejected: 560 - uint64(in), Out: uint64(in), Limit: 16, Inflight: in / 50}
	}
	n := 0
	for ; s.Ratio() > 0 && n < 100; n++ {
		ticks(s, 1, calm(s.Ratio()))
	}
	if n > 15 {
		t.Errorf("open after %d periods, want 15 at most", n)
	}
}

// A signal that binds above it finds it in place when it lets go.
func TestBalanceFollowsTheRatioInForce(t *testing.T) {
	f := pid.Flow{In: 60, Rejected: 60, Out: 50, Limit: 50, Inflight: 50}
	alone, following := lawed(t, "pid"), lawed(t, "pid")
	ticks(alone, 1, f)
	f.Applied = 0.5
	if got := ticks(following, 1, f); math.Abs(got-0.5) > 0.05 || alone.Ratio() > 0.1 {
		t.Errorf("asks for %.2f where 0.5 are shed and more is needed, and for %.2f by itself", got, alone.Ratio())
	}
	f.In = 40 // 0.5 is more than the lane needs
	f.Out, f.Inflight = 40, 40
	if got := ticks(following, 40, f); got > 0.01 {
		t.Errorf("still asks for %.2f, where the lane alone needs nothing", got)
	}
}

// A change of law goes on from the ratio there is and from what was measured.
func TestRatioChangesLaw(t *testing.T) {
	s := lawed(t, "")
	shed(s, 100, 3)
	change := func(law string, want float64) {
		t.Helper()
		was := s.Ratio()
		if err := s.SetConfig(pid.GateConfig{Law: law}); err != nil {
			t.Fatal(err)
		}
		if s.Ratio() != was {
			t.Errorf("%s: jumped from %.3f to %.3f", law, was, s.Ratio())
		}
		for n := range 30 {
			if got := shed(s, 1, 3); math.Abs(got-want) > 0.16 {
				t.Errorf("%s, period %d: ratio is %.3f, was %.3f, want about %.3f", law, n, got, was, want)
				return
			}
		}
	}
	change("pid", 0.667)
	change("ff", 0.6)
	change("pid", 0.667)
	was := *s
	if err := s.SetConfig(pid.GateConfig{Law: "pid"}); err != nil || *s != was {
		t.Errorf("the same law again is a change (%v)", err)
	}
	if err := s.SetConfig(pid.GateConfig{Law: "magic"}); err == nil || *s != was {
		t.Errorf("an unknown law changed something, or is none: %v", err)
	}
	change("off", 0)
	if lambda, mu := s.Rates(); math.Abs(lambda-1500) > 150 || math.Abs(mu-500) > 50 {
		t.Errorf("off it measures %.0f and %.0f, want 1500 and 500", lambda, mu)
	}
	if err := s.SetConfig(pid.GateConfig{}); err != nil {
		t.Fatal(err)
	}
	if got := shed(s, 2, 3); got < 0.4 {
		t.Errorf("back to the default it sheds %.2f after two periods, want some 0.6: it is no cold start", got)
	}
}
