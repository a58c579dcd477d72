package admission

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/regulators"
)

// A period past all reason is an error: added to the clock it wraps, and loop
// and poller spin.
func TestEndlessPeriodIsRefused(t *testing.T) {
	for _, r := range []RegulatorConfig{
		{Period: math.MaxInt64, Timeout: time.Second, MaxAge: math.MaxInt64},
		{Period: math.MaxInt64 / 3},
		{Timeout: math.MaxInt64},
	} {
		if err := (Config{Regulators: map[string]RegulatorConfig{"lag": r}}).Validate(); err == nil {
			t.Errorf("%+v passes", r)
		}
	}
}

// A signal that answers within its time-out is never stale by default.
func TestSlowSignalIsNotStale(t *testing.T) {
	for _, took := range []time.Duration{0, 400 * time.Millisecond, 1500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			slow := regulators.Func(func(ctx context.Context) (float64, error) {
				select {
				case <-time.After(took):
					return 2, nil
				case <-ctx.Done():
					return 0, ctx.Err()
				}
			})
			c := NewQuiet(t, Config{Regulators: map[string]RegulatorConfig{"lag": {Timeout: 2 * time.Second}}}, WithSignal("lag", slow))
			time.Sleep(10 * time.Second)
			stale := 0
			for range 1000 {
				time.Sleep(50 * time.Millisecond)
				if c.Stats().Signals[0].Stale {
					stale++
				}
			}
			if s := c.Stats().Signals[0]; stale > 0 || s.Misses > 0 {
				t.Errorf("a signal that takes %v of 2 s was stale in %d of 1000 looks, %d misses", took, stale, s.Misses)
			}
		})
	}
}

// A config whose readings are mostly too old by its own rule is refused or works.
func TestMaxAgeOfOnePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Config{Regulators: map[string]RegulatorConfig{"lag": {Period: time.Second, MaxAge: time.Second}}}
		if cfg.Validate() != nil {
			return
		}
		var calls atomic.Int64
		c := NewQuiet(t, cfg, WithSignal("lag", regulators.Func(func(context.Context) (float64, error) { calls.Add(1); return 2, nil })))
		time.Sleep(10 * time.Second)
		stale := 0
		for range 1000 {
			time.Sleep(50 * time.Millisecond)
			if c.Stats().Signals[0].Stale {
				stale++
			}
		}
		if stale > 0 {
			t.Errorf("a signal that always answers was stale in %d of 1000 looks", stale)
		}
	})
}
