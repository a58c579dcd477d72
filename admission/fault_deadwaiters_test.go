package admission

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/internal/race"
)

// B02: what is released goes to waiters whose deadline has passed, one after
// the other, and useful work falls to nothing.
func TestDeadWaitersAreNotServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewQuiet(t, Pinned(4, 20_000))
		begin := time.Now()
		var holders []Ticket
		for range 4 {
			holders = append(holders, hold(t, c, Request{}))
		}
		var wg sync.WaitGroup
		var late, served atomic.Int64
		for range 40 {
			for range 250 {
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
					defer cancel()
					asked := time.Now()
					ticket, err := c.Admit(ctx, Request{})
					if err == nil {
						served.Add(1)
						ticket.Release(Success)
					}
					if time.Since(asked) > 70*time.Millisecond {
						late.Add(1)
					}
				})
			}
			time.Sleep(time.Millisecond)
		}
		if n := queued(t, c); n != 10_000 {
			t.Errorf("%d wait, want 10,000", n)
		}
		time.Sleep(time.Until(begin.Add(200 * time.Millisecond)))
		for _, h := range holders {
			h.Release(Success)
		}

		released := time.Now()
		var fresh atomic.Int64
		var first sync.Once
		arrivals(&wg, 600, 667*time.Millisecond, func(int) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			if work(ctx, c, Request{}, 5*time.Millisecond) == nil {
				fresh.Add(1)
				first.Do(func() {
					if d := time.Since(released); d > 20*time.Millisecond {
						t.Errorf("the first fresh one was done %v after the release, want at most 20ms", d)
					}
				})
			}
		})
		wg.Wait()
		if served.Load() != 0 || late.Load() != 0 {
			t.Errorf("%d dead waiters were served, %d came back more than 20 ms late", served.Load(), late.Load())
		}
		t.Logf("%d of 400 fresh ones served", fresh.Load())
		if fresh.Load() < 380 {
			t.Errorf("%d of 400 fresh ones were served, want at least 95 %%", fresh.Load())
		}
	})
}

// B02 in real time: the ten thousand die at one moment and do not stand in line at
// a lock for it. All are back within 20 ms more than goroutines need that wait for
// the same context alone; the least of some tries, since the machine has other work.
func TestDeadWaitersDoNotConvoy(t *testing.T) {
	const waiters = 10_000
	c := NewQuiet(t, Pinned(1, waiters))
	defer hold(t, c, Request{}).Release(Success)
	leave := func(wait func(context.Context), waiting func() int) time.Duration {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range waiters {
			wg.Go(func() { wait(ctx) })
		}
		for waiting() < waiters {
			time.Sleep(time.Millisecond)
		}
		begin := time.Now()
		cancel()
		wg.Wait()
		return time.Since(begin)
	}
	const tries = 20
	least, more := time.Hour, 20*time.Millisecond
	if race.Enabled {
		more *= 10
	}
	for range tries {
		var begun atomic.Int64
		bare := leave(func(ctx context.Context) { begun.Add(1); <-ctx.Done() }, func() int { return int(begun.Load()) })
		took := leave(func(ctx context.Context) { _, _ = c.Admit(ctx, Request{}) }, func() int { return queued(t, c) })
		if least = min(least, took-bare); least <= more {
			t.Logf("all were back %v later than without a queue", least)
			return
		}
	}
	t.Errorf("in %d tries all were back %v later than without a queue, want at most %v", tries, least, more)
}

// B23: waiters that left still count against the queue.
func TestDeadWaitersHoldNoPlace(t *testing.T) {
	t.Run("cancelled", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := NewQuiet(t, Pinned(1, 2))
			holder := hold(t, c, Request{})
			ctx, cancel := context.WithCancel(t.Context())
			a, b := enqueue(ctx, c, Request{}), enqueue(ctx, c, Request{})
			synctest.Wait()
			if n := queued(t, c); n != 2 {
				t.Errorf("%d wait, want 2", n)
			}
			cancel()
			<-a
			<-b
			if n := queued(t, c); n != 0 {
				t.Errorf("%d wait after they left, want 0", n)
			}
			third := enqueue(t.Context(), c, Request{})
			synctest.Wait()
			if n := queued(t, c); n != 1 {
				t.Errorf("%d wait, want 1", n)
			}
			holder.Release(Success)
			if got := <-third; got.err != nil {
				t.Errorf("the third was refused: %v", got.err)
			} else {
				got.ticket.Release(Success)
			}
		})
	})
	t.Run("expired", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := NewQuiet(t, Pinned(1, 100))
			holder := hold(t, c, Request{})
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			var dead []<-chan answer
			var live sync.WaitGroup
			for range 100 {
				dead = append(dead, enqueue(ctx, c, Request{}))
			}
			time.Sleep(60 * time.Millisecond)
			if n := queued(t, c); n != 0 {
				t.Errorf("%d wait beyond their deadline", n)
			}
			for range 100 {
				live.Go(func() {
					if err := work(t.Context(), c, Request{}, time.Millisecond); err != nil {
						t.Errorf("a live one was refused: %v", err)
					}
				})
			}
			synctest.Wait()
			if n := queued(t, c); n != 100 {
				t.Errorf("%d wait, want 100", n)
			}
			for _, d := range dead {
				if got := <-d; got.err == nil {
					t.Error("a waiter was served beyond its deadline")
				}
			}
			holder.Release(Success)
			live.Wait()
		})
	})
}

// B23 (c) and promise 5: a wait ends at the smaller of its two bounds, the
// queue's allowance and the caller's deadline, though nothing ever finishes.
// The allowance is jittered by a fifth to both sides and ends on a grain of 1 ms.
func TestWaitIsBounded(t *testing.T) {
	const ms = time.Millisecond
	for _, tc := range []struct {
		name              string
		interval, lane    time.Duration // 0: law "deadline"
		deadline          time.Duration // of the caller, 0: none
		shortest, longest time.Duration
	}{
		{"the caller's deadline is nearer", time.Second, 0, 50 * ms, 50 * ms, 51 * ms},
		{"the queue's interval is nearer", 50 * ms, 0, 10 * time.Second, 40 * ms, 61 * ms},
		{"a third of the caller's deadline", 0, 0, 300 * ms, 80 * ms, 121 * ms},
		{"a third of the lane's deadline", 0, 3 * time.Second, 0, 800 * ms, 1201 * ms},
		{"nobody names a deadline", 0, 0, 0, 266 * ms, 401 * ms},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := LaneConfig{Limit: LimitConfig{Fixed: 1}, Gate: GateConfig{Law: "off"}, Deadline: tc.lane}
				if tc.interval > 0 {
					l.Queue.Law, l.Queue.Interval, l.Queue.Target = "codel", tc.interval, tc.interval-1
				}
				c := NewQuiet(t, Config{Lanes: map[string]LaneConfig{"default": l}})
				holder := hold(t, c, Request{})
				defer holder.Release(Success)
				ctx := t.Context()
				if tc.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tc.deadline)
					defer cancel()
				}
				var waiters []<-chan answer
				for range 40 {
					waiters = append(waiters, enqueue(ctx, c, Request{}))
				}
				synctest.Wait()
				if n := queued(t, c); n != 40 {
					t.Errorf("%d wait, want 40", n)
				}
				for _, w := range waiters {
					if got := <-w; got.err == nil || got.took < tc.shortest || got.took > tc.longest {
						t.Errorf("waited %v (%v), want %v to %v", got.took, got.err, tc.shortest, tc.longest)
					}
				}
			})
		})
	}
}
