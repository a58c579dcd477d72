package core

import (
	"testing"
	"time"
)

// What those shed are told grows while nothing comes out well, and only then.
func TestRetryAfterTimeline(t *testing.T) {
	l := newLane(t, pinned(2))
	var now time.Duration
	pass := func(d time.Duration) {
		for end := now + d; now < end; now += TickPeriod {
			l.Tick(now, 0.5)
		}
	}
	var c Call
	arrive := func() {
		l.Offer(0, 0, false)
		c = Call{Cost: 1}
		if got := l.Arrive(now, &c, 0.5, true); got != Running {
			t.Fatalf("at %v: %v, want running", now, got)
		}
	}
	release := func(o Outcome) func() { return func() { l.Release(now, &c, o) } }
	for _, act := range []struct {
		why  string
		do   func()
		pass time.Duration
		want time.Duration
	}{
		{"an idle lane owes no answers", func() {}, time.Minute, time.Second},
		{"one runs, a long time after the lane last did", arrive, time.Second, time.Second},
		{"nothing for 3 s", func() {}, 2 * time.Second, 3 * time.Second},
		{"a failure is no answer", release(Failure), 0, 3 * time.Second},
		{"nor is overload", func() { arrive(); release(Overload)(); arrive() }, 2 * time.Second, 5 * time.Second},
		{"ten seconds at most", func() {}, time.Minute, 10 * time.Second},
		{"an answer: those who wait come back for as long as it lasted", release(Success), 3 * time.Second, 7 * time.Second},
		{"after that a second again", func() {}, 7 * time.Second, time.Second},
		{"and is woken by an arrival an hour later", func() { now += time.Hour; arrive() }, 0, time.Second},
		{"that takes 2 s", func() {}, 2 * time.Second, 2 * time.Second},
	} {
		act.do()
		if pass(act.pass); l.RetryAfter() != act.want {
			t.Errorf("%s: %v, want %v", act.why, l.RetryAfter(), act.want)
		}
	}
}

func TestMayRetry(t *testing.T) {
	for _, tc := range []struct {
		tier, attempt int
		want          bool
	}{{0, 0, true}, {3, 0, true}, {4, 0, false}, {5, 0, false}, {0, 1, false}, {3, 7, false}} {
		if got := MayRetry(tc.tier*NumCohorts+NumCohorts-1, tc.attempt); got != tc.want {
			t.Errorf("tier %d, attempt %d: %v", tc.tier, tc.attempt, got)
		}
	}
}
