package admission

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/scorecard"
)

// B03 (a) and (b): a tenant at its cap must not block the line.
func TestCappedTenantDoesNotBlockTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Pinned(2, 10)
		cfg.Scorecard.Rules = []scorecard.Rule{{Name: "x", Match: "tenant:x", Cap: scorecard.Cap{N: 1}}}
		c := NewQuiet(t, cfg)
		x1 := hold(t, c, Request{Tenant: "x"})
		ctx, cancel := context.WithCancel(t.Context())
		x2 := enqueue(ctx, c, Request{Tenant: "x"})
		synctest.Wait()
		y1 := <-enqueue(t.Context(), c, Request{Tenant: "y"})
		if y1.err != nil || y1.took != 0 {
			t.Fatalf("y1: %v after %v, want a slot at once", y1.err, y1.took)
		}
		cancel()
		wantShed(t, (<-x2).err, ReasonTenantCap)
		if l := only(t, c); l.Inflight != 2 {
			t.Errorf("inflight is %d after x2 was cancelled, want 2", l.Inflight)
		}
		y1.ticket.Release(Success)
		x1.Release(Success)
	})
}

// B03 (c): when the waiter at the head leaves, those behind it are looked at
// again although nothing was released.
func TestLeavingHeadLetsOthersGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewQuiet(t, Pinned(10, 10))
		holder := hold(t, c, Request{Cost: 6})
		ctx, cancel := context.WithCancel(t.Context())
		large := enqueue(ctx, c, Request{Cost: 5})
		synctest.Wait()
		small := enqueue(t.Context(), c, Request{Cost: 1})
		synctest.Wait()
		if n := queued(t, c); n != 2 {
			t.Fatalf("%d wait, want 2", n)
		}
		cancel()
		if got := <-large; !errors.Is(got.err, context.Canceled) {
			t.Errorf("large: %v, want Canceled", got.err)
		}
		got := <-small
		if got.err != nil || got.took != 0 {
			t.Fatalf("small: %v after %v, want a slot at once", got.err, got.took)
		}
		got.ticket.Release(Success)
		holder.Release(Success)
	})
}

// The same when the head expires, and when a limit is raised.
func TestExpiringHeadLetsOthersGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewQuiet(t, Pinned(10, 10))
		holder := hold(t, c, Request{Cost: 6})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		large := enqueue(ctx, c, Request{Cost: 5})
		synctest.Wait()
		small := enqueue(t.Context(), c, Request{Cost: 1})
		synctest.Wait()
		larger := enqueue(t.Context(), c, Request{Cost: 4})
		if got := <-large; got.err == nil {
			t.Error("large was served")
		}
		got := <-small
		if got.err != nil || got.took > 21*time.Millisecond {
			t.Fatalf("small: %v after %v, want a slot when the head expires", got.err, got.took)
		}
		if err := c.Apply(Pinned(11, 10)); err != nil {
			t.Fatal(err)
		}
		last := <-larger
		if last.err != nil || last.took > 22*time.Millisecond {
			t.Fatalf("larger: %v after %v, want a slot when the limit is raised", last.err, last.took)
		}
		last.ticket.Release(Success)
		got.ticket.Release(Success)
		holder.Release(Success)
	})
}

// B03 (d): what costs more than the whole limit runs alone, or it would never.
func TestCostBeyondTheLimitRunsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewQuiet(t, Pinned(10, 10))
		huge := hold(t, c, Request{Cost: 15})
		_, err := c.TryAdmit(t.Context(), Request{})
		wantShed(t, err, ReasonLimit)
		one := enqueue(t.Context(), c, Request{})
		synctest.Wait()
		huge.Release(Success)
		got := <-one
		if got.err != nil {
			t.Fatal(got.err)
		}
		again := enqueue(t.Context(), c, Request{Cost: 15})
		synctest.Wait()
		if n := queued(t, c); n != 1 {
			t.Errorf("%d wait, want the huge one", n)
		}
		got.ticket.Release(Success)
		if got = <-again; got.err != nil {
			t.Fatal(got.err)
		}
		got.ticket.Release(Success)
	})
}

// storm sends callers that leave within 2 ms at a service of 1 ms, and counts
// who was served.
func storm(t *testing.T, c *Controller, d time.Duration, served *atomic.Int64) {
	var wg sync.WaitGroup
	arrivals(&wg, 2000, d, func(i int) {
		ctx, cancel := context.WithTimeout(context.Background(), rand.N(2*time.Millisecond))
		defer cancel()
		if work(ctx, c, Request{}, time.Millisecond) == nil {
			served.Add(1)
		}
	})
	for range 100 { // ends in the midst of it, though it had to wait
		wg.Go(func() {
			_ = c.Do(context.Background(), Request{}, func(context.Context) error {
				runtime.Goexit()
				return nil
			})
		})
	}
	wg.Wait()
}

func stormConfig() Config {
	l := LaneConfig{Limit: LimitConfig{Fixed: 1}, Gate: GateConfig{Law: "off"}}
	l.Queue.Capacity, l.Queue.Law = 10_000, "codel"
	return Config{Lanes: map[string]LaneConfig{"default": l}}
}

// B17: whoever hands out slots is held up by callers that have left.
func TestAbandonedWaitersDoNotBlockTheQueue(t *testing.T) {
	t.Run("virtual", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := NewQuiet(t, stormConfig())
			var served atomic.Int64
			storm(t, c, 5*time.Second, &served)
			t.Logf("%d served of 10,000", served.Load())
			if served.Load() < 5*300 {
				t.Errorf("%d served in 5 s, want at least 300 a second", served.Load())
			}
			time.Sleep(100 * time.Millisecond)
			if got := <-enqueue(t.Context(), c, Request{}); got.err != nil || got.took > 10*time.Millisecond {
				t.Errorf("after the storm: %v after %v, want a slot within 10ms", got.err, got.took)
			} else {
				got.ticket.Release(Success)
			}
		})
	})
	t.Run("real", func(t *testing.T) {
		c := NewQuiet(t, stormConfig())
		var served atomic.Int64
		storm(t, c, time.Second, &served)
		t.Logf("%d served of 2,000", served.Load())
		if served.Load() == 0 {
			t.Error("nobody was served")
		}
		time.Sleep(100 * time.Millisecond)
		hold(t, c, Request{}).Release(Success)
	})
}
