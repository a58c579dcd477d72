package pid_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spillway-go/spillway/pid"
)

func TestGateConfig(t *testing.T) {
	for law, want := range map[string]string{
		"":      "",
		"ff":    "",
		"pid":   "",
		"off":   "",
		"magic": `pid: gate law is "magic": must be one of ff, pid, off`,
		"FF":    `pid: gate law is "FF": must be one of ff, pid, off`,
	} {
		got := ""
		if err := (pid.GateConfig{Law: law}).Validate(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("law %q: got %q, want %q", law, got, want)
		}
	}
	if got := (pid.GateConfig{}).WithDefaults(); got.Law != "ff" {
		t.Errorf("default law is %q", got.Law)
	}
	if got := (pid.GateConfig{Law: "off"}).WithDefaults(); got.Law != "off" {
		t.Errorf("law off becomes %q", got.Law)
	}
}

// period of a lane of 50 slots and 500 requests/s, whose waiters may wait 333 ms;
// offered so many times that, all slots busy and the queue as long as it should
// be.
func period(x float64) pid.Flow {
	return pid.Flow{
		In: uint64(50 * x), Out: 50, Lost: 1,
		Inflight: 50, Limit: 50, Queued: 50, Allowance: time.Second / 3,
	}
}

func ticks(s *pid.ShedRatio, n int, f pid.Flow) float64 {
	for range n {
		s.Tick(pid.RatioPeriod, f)
	}
	return s.Ratio()
}

func TestShedRatioTimeline(t *testing.T) {
	var s pid.ShedRatio
	with := func(f pid.Flow, change func(*pid.Flow)) pid.Flow { change(&f); return f }
	for _, act := range []struct {
		why  string
		n    int // ticks
		flow pid.Flow
		want float64
	}{
		{"nothing comes", 10, pid.Flow{Limit: 50, Allowance: time.Second / 3}, 0},
		{"capacity is unknown: open", 10, pid.Flow{In: 500, Lost: 100, Limit: 50, Queued: 200, Allowance: time.Second / 3}, 0},
		{"2x, nothing lost yet: the queue carries it", 30, with(period(2), func(f *pid.Flow) { f.Lost = 0 }), 0},
		{"2x: sheds all but 1.2 of capacity", 50, period(2), 0.4},
		{"it goes on though nothing is lost any more", 50, with(period(2), func(f *pid.Flow) { f.Lost = 0 }), 0.4},
		{"nobody waits: sheds all but 1.5, and fills the queue", 50, with(period(2), func(f *pid.Flow) { f.Queued = 0 }), 0.2},
		{"5x: follows a jump in two ticks", 2, period(5), 0.76},
		{"5x", 50, period(5), 0.76},
		{"and a fall", 2, period(2), 0.4},
		{"5x again", 50, period(5), 0.76},
		{"what the gate shed was offered too", 50, with(period(5), func(f *pid.Flow) { f.In, f.Rejected = 60, 190 }), 0.76},
		{"a limit that is measuring: holds", 50, with(period(1), func(f *pid.Flow) { f.Probing = true }), 0.76},
		{"0.9x: opens", 50, period(0.9), 0},
		{"and stays open", 100, with(period(0.9), func(f *pid.Flow) { f.Lost = 0 }), 0},
		{"10x: bounded by what capacity lets through", 50, period(10), 0.88},
		{"half the slots are free: gives way", 50, with(period(10), func(f *pid.Flow) { f.Inflight, f.Out = 20, 20 }), 0},
		{"resting: open, nothing is let through anyway", 20, with(period(10), func(f *pid.Flow) { f.Limit = 0 }), 0},
		{"again", 100, period(10), 0.88},
		{"callers wait too short a time for a calm ratio: lets through twice the capacity", 1, with(period(10), func(f *pid.Flow) { f.Allowance = 7 * ms; f.Queued = 1 }), 0.80},
		{"within the hysteresis it goes on", 20, with(period(10), func(f *pid.Flow) { f.Allowance = 11 * ms; f.Queued = 1 }), 0.80},
		{"above it is on", 50, with(period(10), func(f *pid.Flow) { f.Allowance = 20 * ms; f.Queued = 3 }), 0.88},
		{"within the hysteresis it stays on", 20, with(period(10), func(f *pid.Flow) { f.Allowance = 11 * ms; f.Queued = 2 }), 0.88},
	} {
		if got := ticks(&s, act.n, act.flow); math.Abs(got-act.want) > 0.03 {
			lambda, mu := s.Rates()
			t.Errorf("%s: ratio is %.3f, want %.2f (lambda %.0f, mu %.0f)", act.why, got, act.want, lambda, mu)
		}
	}
}

// A burst of 160/s before a lane of 16/s ends within the second.
func TestShedRatioFollowsAFallOfAFewRequests(t *testing.T) {
	var s pid.ShedRatio
	f := pid.Flow{In: 16, Out: 2, Lost: 1, Inflight: 8, Limit: 8, Queued: 20, Allowance: 5 * time.Second / 3}
	if got := ticks(&s, 100, f); got < 0.7 {
		t.Fatalf("sheds %.2f of a burst", got)
	}
	f.In, f.Queued = 2, 5
	if got := ticks(&s, 8, f); got > 0 {
		t.Errorf("sheds %.2f of what the lane can do, 0.8 s after the burst", got)
	}
}

func TestShedRatioLevel(t *testing.T) {
	for _, tc := range []struct {
		why    string
		queued int
		want   float64
	}{
		{"as wanted: 0.3 of what an allowance carries", 50, 0.40},
		{"too long: 100 too many, to be gone within a second", 150, 0.50},
		{"too short: 40 too few", 10, 0.36},
	} {
		var s pid.ShedRatio
		f := period(2)
		f.Queued = tc.queued
		if got := ticks(&s, 100, f); math.Abs(got-tc.want) > 0.005 {
			t.Errorf("%s: ratio is %.3f, want %.2f", tc.why, got, tc.want)
		}
	}
}

// It is armed by a loss and only by that: not at the start, not by load.
func TestShedRatioArming(t *testing.T) {
	quiet := period(3)
	quiet.Lost = 0
	var s pid.ShedRatio
	if got := ticks(&s, 100, quiet); got != 0 {
		t.Errorf("sheds %.2f with nothing lost", got)
	}
	if got := ticks(&s, 1, period(3)); got < 0.5 {
		t.Errorf("a loss: sheds %.2f at once, want 0.6", got)
	}
	s = pid.ShedRatio{}
	ticks(&s, 50, period(0.9)) // loses, but not for want of capacity
	ticks(&s, 7, func() pid.Flow { f := period(0.9); f.Lost = 0; return f }())
	if got := ticks(&s, 20, quiet); got != 0 {
		t.Errorf("sheds %.2f over half a second after the last loss", got)
	}
}

func TestShedRatioKeepsItsWits(t *testing.T) {
	var s pid.ShedRatio
	ticks(&s, 50, period(2))
	was := s
	for _, dt := range []time.Duration{0, -time.Second, math.MinInt64} {
		if s.Tick(dt, period(10)); s != was {
			t.Errorf("dt %v changed %+v to %+v", dt, was, s)
		}
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		f := period(2)
		f.Inflight = bad
		if got := s.Tick(pid.RatioPeriod, f); got != 0 {
			t.Errorf("inflight %v: sheds %v, want 0", bad, got)
		}
	}
	if got := ticks(&s, 20, period(2)); math.Abs(got-0.4) > 0.03 {
		t.Errorf("afterwards it sheds %.3f, want 0.4", got)
	}

	const seed = 6
	r := rand.New(rand.NewPCG(seed, seed))
	counts := []uint64{0, 1, 50, 1e6, math.MaxUint64 / 2}
	for range 20_000 {
		f := pid.Flow{
			In: counts[r.IntN(5)], Rejected: counts[r.IntN(5)], Out: counts[r.IntN(5)], Lost: counts[r.IntN(5)],
			Inflight: []float64{0, -1, 1, 50, 1e6, math.NaN()}[r.IntN(6)], Limit: r.IntN(100) - 5,
			Queued: r.IntN(1000) - 5, Allowance: time.Duration(r.Int64()>>r.IntN(63)) - 5, Probing: r.IntN(5) == 0,
		}
		got := s.Tick(time.Duration(r.Int64()>>r.IntN(63))-5, f)
		if !(got == 0 || got >= 0.01 && got <= 0.99) {
			t.Fatalf("%+v: ratio %v", f, got)
		}
	}
	var mu float64
	for range 3000 {
		s.Tick(pid.RatioPeriod, period(2))
		_, mu = s.Rates()
	}
	if got := s.Ratio(); math.Abs(got-0.4) > 0.03 {
		t.Errorf("five minutes of sane flow after the flood: sheds %.3f, want 0.4 (mu %v)", got, mu)
	}
}
