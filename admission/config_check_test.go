package admission

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/codel"
	"github.com/spillway-go/spillway/regulators"
	"github.com/spillway-go/spillway/scorecard"
)

// fields are the paths that an error of Validate or Check names, in order.
func fields(err error) (all []string) {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range many.Unwrap() {
			all = append(all, fields(err)...)
		}
		return all
	}
	var one *FieldError
	if errors.As(err, &one) {
		return []string{one.Field}
	}
	if err != nil {
		return []string{err.Error()}
	}
	return nil
}

// Whoever knows where a config was written finds each fault by the path of its field.
func TestValidateNamesPaths(t *testing.T) {
	broken := Config{
		Mode: 7,
		Lanes: map[string]LaneConfig{"read": {
			Limit: LimitConfig{Min: 9, Max: 5}, Queue: codel.Config{Capacity: -1},
			Gate: GateConfig{Law: "wooden"}, Deadline: -1, MaxCost: -1,
		}, "a\xff": {}},
		Priorities: PriorityConfig{Default: 1, Callers: map[string]Priority{"a*b": T1.Priority()}},
		Scorecard: ScorecardConfig{MaxTenants: -1, Rules: []scorecard.Rule{
			{Name: "a", Match: "tenant:*"},
			{Name: "b", Match: "tenant", Cap: scorecard.Cap{N: -1}},
			{Name: "a", Match: "op:x"},
		}},
		Regulators: map[string]RegulatorConfig{
			"a\xff": {Kind: "cpu"},
			"cpu":   {Kind: "cpu", Limit: 7, Lanes: []string{"read", "nowhere"}},
			"x":     {Kind: "xyz", By: "me", Period: 1},
		},
	}
	want := []string{
		"mode", `lanes["a\xff"]`, `lanes["read"].limit.min`, `lanes["read"].queue.capacity`, `lanes["read"].gate.law`,
		`lanes["read"].deadline`, `lanes["read"].max_cost`, "priorities.default", `priorities.callers["a*b"]`,
		"scorecard.max_tenants", "scorecard.rules[1].match", "scorecard.rules[1].cap", "scorecard.rules[2].name",
		`regulators["a\xff"]`, `regulators["a\xff"].limit`, `regulators["cpu"].limit`, `regulators["cpu"].lanes[1]`, `regulators["x"].kind`, `regulators["x"].by`, `regulators["x"].period`,
	}
	if got := fields(broken.Validate()); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// Check knows what the options bring in.
// A config of many lanes and as many wrong names is judged in time that grows with
// them, not with their product.
func TestValidateOfManyWrongNames(t *testing.T) {
	const many = 2000
	cfg := Config{Lanes: map[string]LaneConfig{}}
	rc := RegulatorConfig{Kind: "goroutines", Limit: 10}
	for i := range many {
		cfg.Lanes[fmt.Sprint("lane", i)] = LaneConfig{}
		rc.Lanes = append(rc.Lanes, fmt.Sprint("no", i))
	}
	cfg.Regulators = map[string]RegulatorConfig{"all": rc}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := cfg.Validate()
	runtime.ReadMemStats(&after)
	if n := len(fields(err)); n != many {
		t.Errorf("%d errors, want %d", n, many)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 16<<20 { // of the product some 130 MB
		t.Errorf("%d bytes were taken to judge %d names", n, many)
	}
}

func TestCheckKnowsTheOptions(t *testing.T) {
	cfg := Config{Regulators: map[string]RegulatorConfig{"lag": {Setpoint: 0.8}}}
	lag := WithSignal("lag", regulators.Func(func(context.Context) (float64, error) { return 0, nil }))
	if err := Check(cfg, lag); err != nil {
		t.Error(err)
	}
	if got := fields(Check(cfg)); !slices.Equal(got, []string{`regulators["lag"]`}) {
		t.Errorf("without the signal: %q", got)
	}
	if err := Check(Config{}, WithSignal("", nil)); err == nil {
		t.Error("an option that errs went unsaid")
	}
}

// What became of a change is in the statistics: which config is in force, since when,
// and why the last one is not.
func TestStatsTellOfTheConfig(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewQuiet(t, Pinned(1, 10))
		began := time.Now()
		time.Sleep(time.Minute)
		if s := c.Stats().Config; s.Version != 1 || !s.Applied.Equal(began) || s.Refused != 0 || s.Err != nil {
			t.Errorf("at the start: %+v", s)
		}
		wrong := c.Apply(Config{Mode: 7})
		if s := c.Stats().Config; s.Version != 1 || s.Refused != 1 || s.Err != wrong || wrong == nil {
			t.Errorf("after a wrong one: %+v", s)
		}
		unread := errors.New("no such file")
		c.RefuseConfig(unread)
		c.RefuseConfig(nil)
		if s := c.Stats().Config; s.Version != 1 || s.Refused != 2 || s.Err != unread {
			t.Errorf("after one that could not be read: %+v", s)
		}
		if err := c.Apply(Pinned(2, 10)); err != nil {
			t.Fatal(err)
		}
		if s := c.Stats().Config; s.Version != 2 || !s.Applied.Equal(time.Now()) || s.Refused != 2 || s.Err != nil {
			t.Errorf("after a good one: %+v", s)
		}
	})
}
