package regulators_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/regulators"
)

func ExampleScaled() {
	lag := regulators.Func(func(context.Context) (float64, error) { return 0.25, nil }) // seconds
	pressure, err := regulators.Scaled(lag, 0.2)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(pressure.Pressure(context.Background()))
	// Output: 1.25 <nil>
}

// script is a Signal that is told what to read next: a pressure or an error.
type script struct {
	p   float64
	err error
}

func (s *script) Pressure(context.Context) (float64, error) { return s.p, s.err }

// act is one poll: after a wait, of a source that reads p or errs.
type act struct {
	why  string
	wait time.Duration
	p    float64
	err  error   // of the source, or wanted
	want float64 // near this
}

func playActs(t *testing.T, source *script, s regulators.Signal, acts []act) {
	t.Helper()
	for _, a := range acts {
		time.Sleep(a.wait)
		source.p, source.err = a.p, nil
		if a.err != regulators.ErrNoReading {
			source.err = a.err
		}
		got, err := s.Pressure(t.Context())
		if !errors.Is(err, a.err) || math.Abs(got-a.want) > 1e-9*max(1, a.want) {
			t.Errorf("%s: %v, %v, want %v, %v", a.why, got, err, a.want, a.err)
		}
	}
}

// built fails the test when a constructor does.
func built(t testing.TB) func(regulators.Signal, error) regulators.Signal {
	return func(s regulators.Signal, err error) regulators.Signal {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

func TestScaled(t *testing.T) {
	var source script
	s := built(t)(regulators.Scaled(&source, 0.25))
	playActs(t, &source, s, []act{
		{"idle", 0, 0, nil, 0},
		{"full", 0, 0.25, nil, 1},
		{"beyond", 0, 1, nil, 4},
		{"error", 0, 1, errDisk, 0},
	})
	source = script{p: math.MaxFloat64}
	if got, err := s.Pressure(t.Context()); got != 0 || err == nil || !strings.Contains(err.Error(), "pressure of Scaled is +Inf") {
		t.Errorf("overflow: %v, %v", got, err)
	}
}

func TestSmoothed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var source script
		s := built(t)(regulators.Smoothed(&source, time.Second))
		const e = 1 / math.E
		playActs(t, &source, s, []act{
			{"the first as it is", 0, 2, nil, 2},
			{"63 % of a step in one tau", time.Second, 0, nil, 2 * e},
			{"no time, no weight", 0, 100, nil, 2 * e},
			{"an error is passed on", time.Second, 0, errDisk, 0},
			{"and the gap counts", time.Second, 0, nil, 2 * e * e * e},
			{"next to nothing is left", time.Hour, 0.7, nil, 0.7},
		})
	})
}

// The period of the polls does not matter, only the time: a step is followed alike.
func TestSmoothedForAnyPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, period := range []time.Duration{10 * time.Millisecond, 100 * time.Millisecond, time.Second} {
			var source script
			s := built(t)(regulators.Smoothed(&source, 2*time.Second))
			_, _ = s.Pressure(t.Context())
			source.p = 1
			var got float64
			for range 4 * time.Second / period {
				time.Sleep(period)
				got, _ = s.Pressure(t.Context())
			}
			if want := 1 - math.Exp(-2); math.Abs(got-want) > 1e-9 {
				t.Errorf("4 s after a step, polled every %v: %v, want %v", period, got, want)
			}
		}
	})
}

func TestHysteresis(t *testing.T) {
	var source script
	playActs(t, &source, built(t)(regulators.Hysteresis(&source, 1.2, 0.8)), []act{
		{"below both", 0, 0.5, nil, 0},
		{"between, from below", 0, 1.1, nil, 0},
		{"reaches on", 0, 1.2, nil, 1.2},
		{"between, from above", 0, 0.9, nil, 0.9},
		{"as low as may be", 0, 0.8, nil, 0.8},
		{"below off", 0, 0.79, nil, 0},
		{"between again", 0, 1.1, nil, 0},
		{"on again", 0, 3, nil, 3},
		{"an error", 0, 3, errDisk, 0},
		{"unlatches", 0, 1, nil, 0},
	})
}

// A reading that wanders within the band switches once, not at each turn.
func TestHysteresisSwitchesOnce(t *testing.T) {
	const seed = 3
	r := rand.New(rand.NewPCG(seed, seed))
	source := script{p: 1.2}
	s := built(t)(regulators.Hysteresis(&source, 1.2, 0.8))
	for range 1000 {
		if got, err := s.Pressure(t.Context()); got != source.p || err != nil {
			t.Fatalf("seed %d: %v, %v while the source reads %v", seed, got, err, source.p)
		}
		source.p = 0.8 + 0.4*r.Float64()
	}
}

func TestRise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var source script
		playActs(t, &source, built(t)(regulators.Rise(&source, time.Second)), []act{
			{"the first", 0, 100, regulators.ErrNoReading, 0},
			{"rises by 50 in half a second", 500 * time.Millisecond, 150, nil, 100},
			{"in the same instant", 0, 1000, regulators.ErrNoReading, 0},
			{"which has not been counted", time.Second, 160, nil, 10},
			{"an error", time.Second, 1000, errDisk, 0},
			{"mean over the gap", time.Second, 200, nil, 20},
			{"stands still", time.Second, 200, nil, 0},
			{"starts again from nothing", time.Second, 5, nil, 0},
			{"and rises", time.Second, 6, nil, 1},
		})
	})
}

func TestCombinatorsKeepNoNonsense(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var source script
		for name, s := range map[string]regulators.Signal{
			"Scaled":     built(t)(regulators.Scaled(&source, 1)),
			"Smoothed":   built(t)(regulators.Smoothed(&source, time.Second)),
			"Hysteresis": built(t)(regulators.Hysteresis(&source, 0.1, 0.1)),
			"Rise":       built(t)(regulators.Rise(&source, time.Second)),
		} {
			source.p = 0.2
			_, _ = s.Pressure(t.Context())
			for _, source.p = range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1} {
				time.Sleep(time.Second)
				if got, err := s.Pressure(t.Context()); got != 0 || err == nil || !strings.Contains(err.Error(), "must be finite and at least 0") {
					t.Errorf("%s of %v: %v, %v", name, source.p, got, err)
				}
			}
			time.Sleep(time.Second)
			source.p = 0.2
			if got, err := s.Pressure(t.Context()); err != nil || got > 0.2+1e-9 {
				t.Errorf("%s after nonsense: %v, %v", name, got, err)
			}
		}
	})
}

func TestCombinatorErrors(t *testing.T) {
	ok, nan, inf := reads(1), math.NaN(), math.Inf(1)
	for _, tc := range []struct {
		build func() (regulators.Signal, error)
		want  []string
	}{
		{func() (regulators.Signal, error) { return regulators.Scaled(nil, 0) }, []string{"signal of Scaled is nil", "full of Scaled is 0, must be finite and above 0"}},
		{func() (regulators.Signal, error) { return regulators.Scaled(ok, nan) }, []string{"full of Scaled is NaN"}},
		{func() (regulators.Signal, error) { return regulators.Scaled(ok, inf) }, []string{"full of Scaled is +Inf"}},
		{func() (regulators.Signal, error) { return regulators.Smoothed(nil, -1) }, []string{"signal of Smoothed is nil", "tau of Smoothed is -1ns, must be above 0"}},
		{func() (regulators.Signal, error) { return regulators.Rise(nil, 0) }, []string{"signal of Rise is nil", "per of Rise is 0s, must be above 0"}},
		{func() (regulators.Signal, error) { return regulators.Hysteresis(nil, 1, 2) }, []string{"signal of Hysteresis is nil", "off of Hysteresis is 2, must be above 0 and at most on, 1"}},
		{func() (regulators.Signal, error) { return regulators.Hysteresis(ok, inf, 1) }, []string{"on of Hysteresis is +Inf"}},
		{func() (regulators.Signal, error) { return regulators.Hysteresis(ok, nan, nan) }, []string{"on of Hysteresis is NaN", "off of Hysteresis is NaN"}},
	} {
		s, err := tc.build()
		for _, want := range tc.want {
			if s != nil || err == nil || !strings.Contains(err.Error(), "regulators: "+want) {
				t.Errorf("%v, %v, want an error with %q", s, err, want)
			}
		}
	}
}
