package admission

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/regulators"
)

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

// A limit of the heap in another unit than bytes would have everything shed.
func TestHeapLimitsAreBytes(t *testing.T) {
	for _, kind := range []string{"heap", "heap-cut"} {
		err := Config{Regulators: map[string]RegulatorConfig{"memory": {Kind: kind, Limit: 512}}}.Validate()
		if err == nil || !strings.Contains(err.Error(), `regulators["memory"].limit`) || !strings.Contains(err.Error(), "4 MiB") {
			t.Errorf("%s of 512: %v", kind, err)
		}
	}
}

// HeapCut refuses everybody for the replica's sake, and another limit is another guard.
func TestHeapCutKind(t *testing.T) {
	limited := func(bytes float64) Config {
		return Config{Regulators: map[string]RegulatorConfig{"memory": {Kind: "heap-cut", Limit: bytes}}}
	}
	c := NewQuiet(t, limited(4<<20))
	_, err := c.Admit(t.Context(), Request{Priority: NewPriority(T0, 0)})
	wantShed(t, err, ReasonRegulator)
	if !errors.Is(err, regulators.ErrRefused) {
		t.Errorf("err = %v", err)
	}
	if err := c.Apply(limited(1 << 40)); err != nil {
		t.Fatal(err)
	}
	hold(t, c, Request{}).Release(Success)
}
