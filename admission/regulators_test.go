package admission

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
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

// Built-in kinds come and go with the config, and their pollers with them; a bad
// config changes nothing.
func TestApplyBuiltInKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewQuiet(t, Config{})
		synctest.Wait()
		own := runtime.NumGoroutine()
		many := Config{Regulators: map[string]RegulatorConfig{
			"all": {Kind: "goroutines", Limit: 1},
			"cpu": {Kind: "sched-latency", Target: 10 * time.Millisecond},
		}}
		for range 20 {
			if err := c.Apply(many); err != nil {
				t.Fatal(err)
			}
			if err := c.Apply(c.Config()); err != nil { // as in force
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			s := c.Stats().Signals
			if len(s) != 2 || s[0].Name != "all" || s[0].Pressure < 1 || s[0].Ratio == 0 || s[1].Name != "cpu" {
				t.Fatalf("signals: %+v", s)
			}
			bad := many
			bad.Regulators = map[string]RegulatorConfig{"x": {Kind: "goroutine"}, "y": {Kind: "goroutines", By: "tenant"}, "z": {}}
			err := c.Apply(bad)
			for _, want := range []string{`regulators["x"].kind is "goroutine": must be one of`, "atMost", `regulators["y"].by`, `"z"`} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("err = %v, want one about %s", err, want)
				}
			}
			if len(c.Stats().Signals) != 2 {
				t.Fatal("a bad config has changed something")
			}
			if err := c.Apply(Config{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if n := Goroutines(own); n > own || len(c.Stats().Signals) != 0 {
				t.Fatalf("%d goroutines, %d without regulators", n, own)
			}
			time.Sleep(200 * time.Millisecond) // a tick of the gate
			if err := work(t.Context(), c, Request{Priority: NewPriority(T5, 0)}, 0); err != nil {
				t.Errorf("%v by a regulator that is gone", err)
			}
		}
	})
}

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

// Every kind can be had from a config alone, with a number that makes sense.
func TestKinds(t *testing.T) {
	for name := range kinds {
		rc := RegulatorConfig{Kind: name, Limit: 0.5, Target: time.Millisecond}
		switch name {
		case "goroutines", "heap", "heap-cut", "bytes":
			rc.Limit = 1 << 30
		case "hot-key":
			rc.Floor = 10
		}
		cfg := Config{Regulators: map[string]RegulatorConfig{"own": rc}}
		if err := cfg.Validate(); err != nil {
			t.Error(err)
		}
		c, err := New(cfg)
		if errors.Is(err, errors.ErrUnsupported) {
			t.Logf("%s: %v", name, err)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if s := c.Stats(); len(s.Signals)+len(s.Guards) != 1 {
			t.Errorf("%s: %+v", name, s)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A guard of a kind goes by what it is for. In a bubble, since the
// bucket of the rate fills with time.
func TestGuardKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Pinned(100, 10)
		cfg.Regulators = map[string]RegulatorConfig{
			"b": {Kind: "bytes", Limit: 100}, "h": {Kind: "hot-key", Limit: 0.5, Floor: 4}, "r": {Kind: "rate", Limit: 6},
		}
		c := NewQuiet(t, cfg)
		var held []Ticket
		for _, key := range []string{"a", "b", "c", "d", "e", "hot", "hot", "hot", "hot"} {
			held = append(held, hold(t, c, Request{Key: key, Tenant: key}))
		}
		var last error
		for i := 0; i < 4 && last == nil; i++ { // eight of thirteen would be more than half
			var ticket Ticket
			if ticket, last = c.TryAdmit(t.Context(), Request{Key: "hot", Tenant: "another"}); last == nil {
				held = append(held, ticket)
			}
		}
		wantShed(t, last, ReasonKeyed)
		_, err := c.TryAdmit(t.Context(), Request{Key: "x", Bytes: 101})
		wantShed(t, err, ReasonRegulator)
		for i := range 7 {
			ticket, err := c.TryAdmit(t.Context(), Request{Key: "y", Tenant: "busy"})
			ticket.Release(Success)
			if i == 6 {
				wantShed(t, err, ReasonKeyed)
			}
		}
		for _, ticket := range held {
			ticket.Release(Success)
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
