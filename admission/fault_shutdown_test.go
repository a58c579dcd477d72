package admission

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/regulators"
	"github.com/spillway-go/spillway/scorecard"
)

// B40: shutdown stops what hands out slots and leaves the waiters hanging.
func TestCloseWakesWaiters(t *testing.T) {
	before := runtime.NumGoroutine()
	synctest.Test(t, func(t *testing.T) {
		calm := regulators.Func(func(context.Context) (float64, error) { return 0.1, nil })
		waits := regulators.Func(func(ctx context.Context) (float64, error) { <-ctx.Done(); return 0, ctx.Err() })
		cfg := Config{Lanes: map[string]LaneConfig{"default": {Limit: LimitConfig{Initial: 1}}}}
		c := NewQuiet(t, cfg, WithSignal("calm", calm), WithSignal("waits", waits))
		holder := hold(t, c, Request{})
		var waiters []<-chan answer
		for range 50 {
			waiters = append(waiters, enqueue(t.Context(), c, Request{}))
		}
		synctest.Wait()
		begin := time.Now()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		for _, w := range waiters {
			got := <-w
			if wantShed(t, got.err, ReasonClosed); !errors.Is(got.err, ErrClosed) {
				t.Errorf("err = %v, want ErrClosed", got.err)
			}
		}
		for range 10 {
			got := <-enqueue(t.Context(), c, Request{})
			wantShed(t, got.err, ReasonClosed)
		}
		if took := time.Since(begin); took > 100*time.Millisecond {
			t.Errorf("all were told after %v, want within 100ms", took)
		}
		if l := only(t, c); l.Tiers[T3].Shed[ReasonClosed] != 60 || shed(l) != 60 {
			t.Errorf("shed %v, want 60 for reason closed", l.Tiers[T3].Shed)
		}
		holder.Release(Success)
		if err := c.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
		if err := c.Apply(cfg); !errors.Is(err, ErrClosed) {
			t.Errorf("Apply after Close: %v, want ErrClosed", err)
		}
	})
	if after := Goroutines(before); after > before {
		t.Errorf("%d goroutines, %d before", after, before)
	}
}

// Whatever else would refuse a request, after Close the reason is that.
func TestCloseIsTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		two := regulators.Func(func(context.Context) (float64, error) { return 2, nil })
		cfg := Pinned(10, 1)
		cfg.Scorecard.Rules = []scorecard.Rule{{Name: "none", Match: "tenant:capped", Cap: scorecard.Cap{N: 0}}}
		c := NewQuiet(t, cfg, WithSignal("two", two))
		var wg sync.WaitGroup
		batch := Request{Priority: NewPriority(T5, 0)}
		arrivals(&wg, 100, 5*time.Second, func(int) { _ = c.Do(context.Background(), batch, quick) })
		wg.Wait()
		if only(t, c).ShedRatio < 0.5 {
			t.Fatal("the gate does not shed")
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		late, cancel := context.WithTimeout(t.Context(), 0)
		defer cancel()
		for _, ask := range []struct {
			ctx context.Context
			r   Request
		}{{t.Context(), batch}, {t.Context(), Request{Tenant: "capped"}}, {late, Request{}}} {
			if _, err := c.Admit(ask.ctx, ask.r); !errors.Is(err, ErrClosed) {
				t.Errorf("%+v: %v, want ErrClosed", ask.r, err)
			}
		}
	})
}

// Promise 8: Close names the signal that does not heed its context, waits a
// second for it at most, and leaves nothing else behind.
func TestCloseNamesHungSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		hangs := func(context.Context) (float64, error) { <-release; return 0, nil }
		c, err := New(Config{},
			WithSignal("deaf", regulators.Func(hangs)), WithSignal("mute", regulators.Func(hangs)),
			WithSignal("fine", regulators.Func(func(context.Context) (float64, error) { return 0, nil })))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		begin := time.Now()
		err = c.Close()
		if took := time.Since(begin); took > time.Second {
			t.Errorf("Close took %v, want at most 1s", took)
		}
		if err == nil || !strings.Contains(err.Error(), `"deaf"`) || !strings.Contains(err.Error(), `"mute"`) || strings.Contains(err.Error(), `"fine"`) {
			t.Errorf("err = %v, want the two named that hang", err)
		}
		ValidateQuiet(t, c)
	})
}
