package admission

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// B04: the slot is given back when the caller gives up, although the work goes
// on, so that more runs than the limit says.
func TestSlotIsHeldUntilTheWorkReturns(t *testing.T) {
	const working = 300 * time.Millisecond
	for _, tc := range []struct {
		name  string
		after error // what the work makes of its caller having left
	}{
		{"work that does not look at its context", nil},
		{"work that reports the deadline, late", context.DeadlineExceeded},
		{"work that reports the departure, late", context.Canceled},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := NewQuiet(t, Pinned(2, 20))
				var running, most atomic.Int64
				request := func() {
					ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
					defer cancel()
					_ = c.Do(ctx, Request{}, func(context.Context) error {
						n := running.Add(1)
						for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
						}
						time.Sleep(working)
						running.Add(-1)
						return tc.after
					})
				}
				var wg sync.WaitGroup
				for range 10 {
					wg.Go(request)
				}
				time.Sleep(100 * time.Millisecond)
				for range 10 {
					wg.Go(request)
				}
				wg.Wait()
				if most.Load() != 2 {
					t.Errorf("at most %d ran at once, want 2", most.Load())
				}
				// All came too late to be a fair sample.
				if l := only(t, c); l.Service.Total() != 0 {
					t.Errorf("%d samples of work that nobody waited for", l.Service.Total())
				}
				// The sample of work that is still wanted is its full time.
				_ = c.Do(t.Context(), Request{}, func(context.Context) error { time.Sleep(working); return nil })
				if l := only(t, c); l.Service.Total() != 1 || l.Service.Sum != working {
					t.Errorf("%d samples of together %v, want one of %v", l.Service.Total(), l.Service.Sum, working)
				}
			})
		})
	}
}

// B04 (c): a caller that cancels frees nothing while its work goes on.
func TestCancelFreesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewQuiet(t, Pinned(2, 20))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- c.Do(ctx, Request{}, func(ctx context.Context) error {
				time.Sleep(300 * time.Millisecond)
				return ctx.Err()
			})
		}()
		time.Sleep(10 * time.Millisecond)
		cancel()
		for _, at := range []time.Duration{10 * time.Millisecond, 230 * time.Millisecond} {
			time.Sleep(at)
			if n := only(t, c).Inflight; n != 1 {
				t.Errorf("inflight is %d while the work goes on, want 1", n)
			}
		}
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		l := only(t, c)
		if l.Tiers[T3].Outcomes[Ignore] != 1 || l.Service.Total() != 0 {
			t.Errorf("outcomes %v, %d samples; want it ignored", l.Tiers[T3].Outcomes, l.Service.Total())
		}
	})
}
