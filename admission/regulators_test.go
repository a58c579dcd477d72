package admission

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/regulators"
)

// A config that moves a signal's setpoint, period and lanes is in force at once,
// and the PID goes on from where it was; what the config no longer names is bound
// as by default.
func TestApplyRebindsSignals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lag regulators.Value
		lag.Set(3)
		cfg := Config{
			Lanes:      map[string]LaneConfig{"read": {}, "write": {}},
			Regulators: map[string]RegulatorConfig{"lag": {Setpoint: 4, Period: time.Hour}},
		}
		c := NewQuiet(t, cfg, WithSignal("lag", &lag))
		apply := func(rc RegulatorConfig) SignalStats {
			t.Helper()
			cfg.Regulators = map[string]RegulatorConfig{"lag": rc}
			if err := c.Apply(cfg); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
			return c.Stats().Signals[0]
		}
		ratios := func() (read, write float64) {
			r, _ := c.Stats().Lane("read")
			w, _ := c.Stats().Lane("write")
			return r.ShedRatio, w.ShedRatio
		}
		var wg sync.WaitGroup
		ctx, stop := context.WithCancel(t.Context())
		defer wg.Wait()
		defer stop()
		wg.Go(func() { // somebody must be there to be shed
			for ctx.Err() == nil {
				for _, lane := range []string{"read", "write"} {
					_ = c.Do(context.Background(), Request{Lane: lane, Priority: NewPriority(T5, 0)}, quick)
				}
				time.Sleep(5 * time.Millisecond)
			}
		})
		time.Sleep(10 * time.Second)
		if s := c.Stats().Signals[0]; s.Ratio != 0 {
			t.Fatalf("asks for %v below its setpoint", s.Ratio)
		}
		rises := apply(RegulatorConfig{Setpoint: 2, Lanes: []string{"write"}, Period: 100 * time.Millisecond})
		if rises.Ratio == 0 || rises.Setpoint != 2 {
			t.Errorf("2 s after its setpoint and period changed it asks for %v, setpoint %v", rises.Ratio, rises.Setpoint)
		}
		if read, write := ratios(); read != 0 || write == 0 {
			t.Errorf("ratios of read and write are %v and %v", read, write)
		}
		lag.Set(2) // at the setpoint: what is integrated stays
		time.Sleep(time.Second)
		before := c.Stats().Signals[0].Terms.I
		after := apply(RegulatorConfig{Setpoint: 2, Lanes: []string{"read"}, Period: 100 * time.Millisecond})
		if after.Terms.I != before {
			t.Errorf("the integrator was at %v and is at %v", before, after.Terms.I)
		}
		if read, write := ratios(); read == 0 || write != 0 {
			t.Errorf("bound to the other lane, ratios of read and write are %v and %v", read, write)
		}
		cfg.Regulators = nil
		if err := c.Apply(cfg); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if s := c.Stats().Signals[0]; s.Setpoint != 1 || s.Ratio <= after.Ratio {
			t.Errorf("without an entry setpoint is %v, ratio %v", s.Setpoint, s.Ratio)
		}
	})
}

func TestRegulatorsAreChecked(t *testing.T) {
	signal, guard := regulators.Func(nil), newTill(1)
	for name, opt := range map[string]Option{
		"name is empty": WithGuard("", guard), "guard \"g\" is nil": WithGuard("g", nil),
		"keyed signal \"k\" is nil": WithKeyedSignal("k", nil), "signal \"s\" is nil": WithSignal("s", nil),
		"given twice": func(o *options) error {
			return errors.Join(WithSignal("a", signal)(o), WithGuard("a", guard)(o))
		},
	} {
		if _, err := New(Config{}, opt); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("err = %v, want one about %s", err, name)
		}
	}
	for want, rc := range map[string]RegulatorConfig{
		".by is \"host\"": {By: "host"}, ".counts is \"apples\"": {Counts: "apples"},
		".on_stale is": {OnStale: "panic"}, ".hold_for is 1s: has no effect": {HoldFor: time.Second},
		".by is tenant: a signal speaks for all": {By: "tenant"}, ".counts is cost": {Counts: "cost"},
		".kind is": {Kind: "goroutines", Limit: 10}, ".limit is -0.5": {Limit: -0.5}, ".limit is NaN": {Limit: math.NaN()},
		".kp is -1": {KP: -1}, ".ki is NaN": {KI: math.NaN()},
	} {
		_, err := New(Config{Regulators: map[string]RegulatorConfig{"s": rc}}, WithSignal("s", signal))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("err = %v, want one about %s", err, want)
		}
	}
}
