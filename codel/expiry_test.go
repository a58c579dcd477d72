package codel

import (
	"math"
	"testing"
	"time"
)

// An owner that sleeps until NextExpiry sees each expiry within the grain and
// is woken for nothing a few times only.
func TestWakeUps(t *testing.T) {
	for _, allowance := range []time.Duration{
		time.Microsecond, 10 * ms, 63 * ms, 65 * ms, 333 * ms, 10*time.Second + 1, time.Hour, 30 * 24 * time.Hour,
	} {
		q := New[int](Config{})
		q.Push(at(0), &Item[int]{Allowance: 365 * 24 * time.Hour}) // keeps the clock
		start := at(time.Hour + 77*ms + 300*time.Microsecond)
		it := &Item[int]{Allowance: allowance}
		q.Push(start, it)
		if next, _ := q.NextExpiry(); next.Before(start) {
			t.Errorf("allowance %v: to be called %v ago", allowance, start.Sub(next))
		}
		var waited time.Duration
		wakeUps := 0
		for left := it; left != nil; wakeUps++ {
			now, _ := q.NextExpiry()
			waited = now.Sub(start)
			if q.Expire(now) == it {
				left = nil
			}
			if wakeUps > 2*numLevels {
				t.Fatalf("allowance %v: still waiting after %d wake-ups", allowance, wakeUps)
			}
		}
		if waited < allowance || waited >= allowance+grain {
			t.Errorf("allowance %v: expired after %v", allowance, waited)
		}
	}
}

// A herd that came together with jittered allowances does not leave together.
func TestJitterSpreadsExpiry(t *testing.T) {
	const herd = 1000
	cfg := Config{Capacity: herd}
	q := New[int](cfg)
	for i := range herd {
		u := float64(i) / herd
		q.Push(at(0), &Item[int]{Allowance: cfg.Allow(3*time.Second, false, u)})
	}
	most, total := 0, 0
	for now := at(0); q.Len() > 0; now = now.Add(ms) {
		n := 0
		for q.Expire(now) != nil {
			n++
		}
		most, total = max(most, n), total+n
	}
	if total != herd || most > 4 { // 1000 over the 400 ms from 0.8 to 1.2 s
		t.Errorf("%d expired, at most %d in one ms; want %d, at most 4", total, most, herd)
	}
}

// A jump expires who waited no longer than it, and the queue works on. Its work
// must not grow with the jump: walked tick by tick, this test would not end.
func TestClockJumps(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, jump := range []time.Duration{time.Hour, year, 100 * year, math.MaxInt64} {
		q := New[int](Config{})
		q.Push(at(0), &Item[int]{Allowance: 10 * ms})
		q.Push(at(0), &Item[int]{Allowance: time.Second})
		forever := &Item[int]{Allowance: math.MaxInt64}
		q.Push(at(5*ms), forever)
		now := at(jump)
		n := 0
		for q.Expire(now) != nil {
			n++
		}
		want := 2
		if jump == math.MaxInt64 { // the clock's end: even for ever has passed
			want = 3
		}
		if n != want || q.Remove(forever) != (want == 2) {
			t.Errorf("a jump of %v expired %d, want %d", jump, n, want)
		}
		it := &Item[int]{Allowance: 10 * ms}
		q.Push(now, it)
		if q.Expire(now.Add(9*ms)) != nil || q.Expire(now.Add(10*ms)) != it {
			t.Errorf("after a jump of %v the next waiter did not expire in its time", jump)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	q := New[int](Config{Capacity: 8})
	items := make([]Item[int], 9)
	now := at(0)
	got := testing.AllocsPerRun(200, func() {
		for i := range items { // the ninth evicts
			items[i].Tier, items[i].Allowance = i%NumTiers, time.Duration(i)*30*ms
			q.Push(now, &items[i])
		}
		q.Peek(now)
		q.Pop(now)
		q.Remove(&items[8])
		q.HeadAge(now, 3)
		for q.Len() > 0 {
			now, _ = q.NextExpiry()
			q.Expire(now)
		}
	})
	if got != 0 {
		t.Errorf("%v allocations a round, want 0", got)
	}
}
