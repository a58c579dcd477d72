package admission

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/sync/semaphore"

	"github.com/spillway-go/spillway/scorecard"
)

// benchController has everything on: ten rules of which two apply, the gate,
// a pinned limit, histograms and statistics.
func benchController(tb testing.TB, limit int) *Controller {
	rules := []scorecard.Rule{
		{Name: "noisy", Match: "tenant:noisy", Cap: scorecard.Cap{N: 10}},
		{Name: "batch", Match: "tenant:batch-*", Cap: scorecard.Cap{N: 10}},
		{Name: "gold", Match: "tenant:gold-*", Cap: scorecard.Cap{Share: 0.5}},
		{Name: "acme", Match: "tenant:acme", Cap: scorecard.Cap{N: 1000}},
		{Name: "tenant", Match: "tenant:*", Cap: scorecard.Cap{N: 100}},
		{Name: "report", Match: "op:report", Cap: scorecard.Cap{N: 2}},
		{Name: "export", Match: "op:export", Cap: scorecard.Cap{N: 2}},
		{Name: "op", Match: "op:*", Cap: scorecard.Cap{N: 1000}},
		{Name: "crawl", Match: "caller:crawler", Cap: scorecard.Cap{N: 3}},
		{Name: "writes", Match: "caller:sync;op:write", Cap: scorecard.Cap{N: 5}},
	}
	c, err := New(Config{
		Lanes:     map[string]LaneConfig{"default": {Limit: LimitConfig{Fixed: limit}}},
		Scorecard: ScorecardConfig{Rules: rules},
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
	return c
}

var benchRequest = Request{
	Priority: NewPriority(T1, 7), Tenant: "acme", Caller: "checkout", Op: "read", Key: "order-17",
}

// BenchmarkAdmitRelease is the whole way of a request that is admitted at
// once, beside the barest limiter there is.
func BenchmarkAdmitRelease(b *testing.B) {
	ctx := context.Background()
	b.Run("xsync-semaphore", func(b *testing.B) {
		s := semaphore.NewWeighted(1000)
		b.ReportAllocs()
		for b.Loop() {
			if !s.TryAcquire(1) {
				b.Fatal("refused")
			}
			s.Release(1)
		}
	})
	b.Run("spillway", func(b *testing.B) {
		c := benchController(b, 1000)
		b.ReportAllocs()
		for b.Loop() {
			t, err := c.Admit(ctx, benchRequest)
			if err != nil {
				b.Fatal(err)
			}
			t.Release(Success)
		}
	})
}

// BenchmarkShed is a refusal, by the lane and by the scorecard.
func BenchmarkShed(b *testing.B) {
	ctx := context.Background()
	b.Run("xsync-semaphore", func(b *testing.B) {
		s := semaphore.NewWeighted(1)
		s.TryAcquire(1)
		b.ReportAllocs()
		for b.Loop() {
			if s.TryAcquire(1) {
				b.Fatal("admitted")
			}
		}
	})
	b.Run("limit", func(b *testing.B) {
		c := benchController(b, 1)
		t, err := c.Admit(ctx, benchRequest)
		if err != nil {
			b.Fatal(err)
		}
		defer t.Release(Ignore)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.TryAdmit(ctx, benchRequest); err == nil {
				b.Fatal("admitted")
			}
		}
	})
	b.Run("priority", func(b *testing.B) {
		c := benchController(b, 1)
		l := c.plan.Load().def
		l.open.Store(false)
		l.mu.Lock()
		l.mu.core.SetSignals(1, "test")
		l.mu.Unlock()
		for range 3 {
			l.mu.Lock()
			l.mu.core.Offer(0, 0, false)
			l.mu.core.Tick(c.now()+1e9, 0)
			l.mu.Unlock()
		}
		r := benchRequest
		r.Priority = NewPriority(T5, 100)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.Admit(ctx, r); err == nil {
				b.Fatal("admitted")
			}
		}
	})
	b.Run("tenant-cap", func(b *testing.B) {
		c := benchController(b, 1000)
		r := benchRequest
		r.Tenant = "noisy"
		for range 10 {
			t, err := c.Admit(ctx, r)
			if err != nil {
				b.Fatal(err)
			}
			defer t.Release(Ignore)
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.Admit(ctx, r); err == nil {
				b.Fatal("admitted")
			}
		}
	})
}

// BenchmarkGoroutines is admit and release by many at once; -cpu sets the processors.
func BenchmarkGoroutines(b *testing.B) {
	for _, n := range []int{1, 32, 1024} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			c := benchController(b, 4096)
			var done sync.WaitGroup
			b.ReportAllocs()
			for g := range n {
				done.Go(func() {
					for range (b.N + g) / n {
						if t, err := c.Admit(context.Background(), benchRequest); err == nil {
							t.Release(Success)
						}
					}
				})
			}
			done.Wait()
		})
	}
}
