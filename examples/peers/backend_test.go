package main

import (
	"context"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestBackendsFinishTheirCapacity keeps each shape busy with as many as it likes best, for a minute.
func TestBackendsFinishTheirCapacity(t *testing.T) {
	for _, s := range shapes {
		t.Run(s.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if got := finishedBy(s, parallel); math.Abs(got/capacity-1) > 0.01 {
					t.Errorf("%.0f/s, want %v", got, capacity)
				}
			})
		})
	}
}

// TestCollapseServesLessBeyondTheKnee by its formula: at n=124 the efficiency is 1/(1+0.02*100).
func TestCollapseServesLessBeyondTheKnee(t *testing.T) {
	for _, s := range shapes {
		want := float64(capacity)
		if s.Beta > 0 {
			want = capacity / 3
		}
		synctest.Test(t, func(t *testing.T) {
			if got := finishedBy(s, 124); math.Abs(got/want-1) > 0.02 {
				t.Errorf("%s: %.0f/s, want %.0f", s.Name, got, want)
			}
		})
	}
}

// finishedBy is what so many clients get done a second who ask again at once.
func finishedBy(s shape, clients int) float64 {
	b, n := newBackend(s), 0
	var mu sync.Mutex
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for start := time.Now(); time.Since(start) < time.Minute; {
				_ = b.serve(context.Background(), meanWork.Seconds())
				mu.Lock()
				n++
				mu.Unlock()
			}
		})
	}
	start := time.Now()
	all.Wait()
	return float64(n) / time.Since(start).Seconds()
}

// TestLeavingFreesTheBackend has a client give up in service and one in the queue, and the next one served
// as if neither had been there.
func TestLeavingFreesTheBackend(t *testing.T) {
	for _, s := range []shape{{Servers: 1}, {Cores: 1}} {
		synctest.Test(t, func(t *testing.T) {
			b := newBackend(s)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			var left sync.WaitGroup
			for range 2 {
				left.Go(func() {
					if err := b.serve(ctx, 10); err != context.DeadlineExceeded {
						t.Errorf("served with %v, want the deadline's error", err)
					}
				})
			}
			left.Wait()
			start := time.Now()
			if err := b.serve(t.Context(), 2); err != nil || time.Since(start).Round(time.Microsecond) != 2*time.Second {
				t.Errorf("%v after %v, want 2 s of service", err, time.Since(start))
			}
		})
	}
}
