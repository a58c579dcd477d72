package admission

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/regulators"
)

// A poll that hangs is one goroutine, however often the config changes, and when
// it comes back the signal works again.
func TestHungPollIsOneGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var inside, most atomic.Int32
		hangs := regulators.Func(func(context.Context) (float64, error) {
			most.Store(max(most.Load(), inside.Add(1)))
			defer inside.Add(-1)
			<-release
			return 0.5, nil
		})
		c := NewQuiet(t, Config{}, WithSignal("hangs", hangs))
		synctest.Wait()
		before := runtime.NumGoroutine()
		for i := range 50 {
			rc := RegulatorConfig{Period: time.Duration(100+i) * time.Millisecond}
			if err := c.Apply(Config{Regulators: map[string]RegulatorConfig{"hangs": rc}}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		if n := Goroutines(before); n > before || most.Load() != 1 {
			t.Errorf("%d goroutines, %d before; %d polls at once", n, before, most.Load())
		}
		if s := c.Stats().Signals[0]; !s.Stale || s.Misses == 0 || s.Err == nil {
			t.Errorf("while it hangs: %+v", s)
		}
		close(release)
		time.Sleep(time.Second)
		if s := c.Stats().Signals[0]; s.Stale || s.Err != nil || s.Pressure != 0.5 {
			t.Errorf("after it came back: %+v", s)
		}
	})
}

// hold keeps the ratio of a signal that has gone silent, for as long as it says
// and no longer; edges are logged once.
func TestOnStale(t *testing.T) {
	for rule, held := range map[string]bool{"": false, "ignore": false, "hold": true} {
		t.Run("rule "+rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var silent atomic.Bool
				source := regulators.Func(func(context.Context) (float64, error) {
					if silent.Load() {
						return 0, errMine
					}
					return 1.5, nil
				})
				rc := RegulatorConfig{OnStale: rule}
				if held {
					rc.HoldFor = 20 * time.Second
				}
				var log strings.Builder
				c := NewQuiet(t, Config{Regulators: map[string]RegulatorConfig{"lag": rc}}, WithSignal("lag", source),
					WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
				time.Sleep(5 * time.Second)
				silent.Store(true)
				time.Sleep(3 * time.Second)
				ratio := c.Stats().Signals[0].Ratio
				time.Sleep(15 * time.Second)
				s := c.Stats().Signals[0]
				if !s.Stale || (s.Ratio > 0) != held || s.Ratio != ratio {
					t.Errorf("silent for 18 s: %+v", s)
				}
				time.Sleep(10 * time.Second)
				if s := c.Stats().Signals[0]; s.Ratio != 0 {
					t.Errorf("silent for 28 s: %+v", s)
				}
				silent.Store(false)
				time.Sleep(5 * time.Second)
				if s := c.Stats().Signals[0]; s.Stale || s.Ratio == 0 {
					t.Errorf("speaks again: %+v", s)
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
				if lost, found := strings.Count(log.String(), "signal lost"), strings.Count(log.String(), "found again"); lost != 1 || found != 1 {
					t.Errorf("lost %d times, found %d times:\n%s", lost, found, log.String())
				}
			})
		})
	}
}

// A signal that needs a period between two polls is not lost before the second, however
// they fall; one that never has a reading is.
func TestFirstPollWithoutAReadingIsNoLoss(t *testing.T) {
	for mute, want := range map[bool]int{false: 0, true: 1} {
		synctest.Test(t, func(t *testing.T) {
			for range 20 { // the polls' period is jittered
				polls := 0
				source := regulators.Func(func(context.Context) (float64, error) {
					if polls++; polls == 1 || mute {
						return 0, fmt.Errorf("%w: a period must pass", regulators.ErrNoReading)
					}
					return 0.5, nil
				})
				var log strings.Builder
				c := NewQuiet(t, Config{}, WithSignal("cpu", source), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
				time.Sleep(5 * time.Second)
				if err := c.Close(); err != nil {
					t.Error(err)
				}
				if got := strings.Count(log.String(), "signal lost"); got != want {
					t.Errorf("mute %v: lost %d times, want %d:\n%s", mute, got, want, log.String())
				}
			}
		})
	}
}
