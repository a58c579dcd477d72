package pid_test

import (
	"testing"

	"github.com/spillway-go/spillway/pid"
)

// A slot more for each success while half of the limit is used, a tenth less,
// and at least one, for each overload.
func TestAIMDTimeline(t *testing.T) {
	l := newLane(t, pid.LimitConfig{Law: "aimd", Initial: 8, Max: 60})
	for i, step := range []struct {
		good, bad, inflight int // since the last tick
		limit               int
		why                 string
	}{
		{3, 0, 8, 11, "grow: no overload"},
		{2, 0, 5, 11, "hold: the limit is not half used"},
		{1, 0, 6, 12, "grow: no overload"},
		{100, 0, 6, 13, "grow: no overload"}, // success by success it would stop there
		{0, 1, 13, 11, "cut: overload"},      // 11.7
		{0, 1, 13, 10, "cut: overload"},      // 10.53
		{0, 6, 13, 4, "cut: overload"},       // one each is more than a tenth
		{6, 0, 13, 10, "grow: no overload"},
		{0, 0, 13, 10, "grow: no overload"}, // nothing came out
		{20, 1, 50, 27, "grow: more success than overload takes away"},
		{1, 1, 50, 25, "cut: overload"},
		{1000, 0, 50, 60, "grow: no overload"}, // the ceiling
		{0, 500, 50, 1, "cut: overload"},       // the floor
		{1, 0, 1, 2, "grow: no overload"},
	} {
		for range step.good {
			l.law.Observe(pid.Sample{Service: 10 * ms, Inflight: step.inflight})
		}
		for range step.bad {
			l.law.Observe(pid.Sample{Inflight: step.inflight, Overload: true})
		}
		l.now += l.step
		l.law.Tick(l.now, l.use)
		if got, why := l.law.Limit(), l.state().Why; got != step.limit || why != step.why {
			t.Errorf("step %d: limit %d, %q, want %d, %q", i, got, why, step.limit, step.why)
		}
	}
}
