package pid_test

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/pid"
)

func TestGradient2Timeline(t *testing.T) {
	l := newLane(t, pid.LimitConfig{Law: "gradient2", Initial: 8})
	for _, step := range []struct {
		what    string
		seconds int
		service time.Duration
		limit   int
		why     string
	}{
		// A fifth of four slots a second, 8 + 10 * 0.8.
		{"as fast as ever", 10, 100 * ms, 16, "grow: not much slower than the long mean"},
		// The long mean is 100.33 ms, the ratio 0.5017: 16 + 0.2 (0.5017 * 16 + 4 - 16).
		{"twice as slow", 1, 200 * ms, 15, "cut: slower than the long mean"},
		{"faster is no reason to grow faster", 5, 40 * ms, 19, "grow: not much slower than the long mean"},
	} {
		l.runAs(time.Duration(step.seconds)*time.Second, full(20, step.service))
		if got, why := l.law.Limit(), l.state().Why; got != step.limit || why != step.why {
			t.Errorf("%s: limit %d, %q, want %d, %q", step.what, got, why, step.limit, step.why)
		}
	}
	// Far above what it now sees, the long mean fell three times by a tenth.
	if s := l.state(); !closeTo(s.Latency, 40*ms, 0.01) || !closeTo(s.Baseline, 72500*time.Microsecond, 0.005) {
		t.Errorf("latency %v, baseline %v", s.Latency, s.Baseline)
	}
}

func TestGradient2HoldsWhenNotHalfUsed(t *testing.T) {
	l := newLane(t, pid.LimitConfig{Law: "gradient2", Initial: 8})
	l.run(time.Minute, flow{rate: 100, service: 30 * ms, busy: 3})
	if got, why := l.law.Limit(), l.state().Why; got != 8 || why != "hold: the limit is not half used" {
		t.Errorf("limit %d, %q", got, why)
	}
}

// What a second brings is a window if it is ten samples; fewer wait for more.
func TestGradient2AtFewRequests(t *testing.T) {
	l := newLane(t, pid.LimitConfig{Law: "gradient2", Initial: 8})
	l.runAs(20*time.Second, full(4, 100*ms)) // ten samples in 2.5 s
	l.limitIs("eight windows", 14, 14)
}

// Its known weakness: the long mean takes standing overload for normal.
func TestGradient2CreepsUpUnderOverload(t *testing.T) {
	l := newLane(t, pid.LimitConfig{Law: "gradient2", Initial: 8})
	l.runAs(5*time.Minute, servers(40, 100*ms))
	l.limitIs("five minutes", 40, 120)
	was := l.law.Limit()
	l.runAs(20*time.Minute, servers(40, 100*ms))
	l.limitIs("twenty more", was+10, 4000)
}
