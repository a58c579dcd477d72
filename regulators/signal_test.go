package regulators_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/regulators"
)

func ExampleFunc() {
	connections, most := 45, 50
	pool := regulators.Func(func(context.Context) (float64, error) {
		return float64(connections) / float64(most), nil
	})
	fmt.Println(pool.Pressure(context.Background()))
	// Output: 0.9 <nil>
}

// reads is a Signal that always reads p; fails is one that always errs.
func reads(p float64) regulators.Signal {
	return regulators.Func(func(context.Context) (float64, error) { return p, nil })
}

func fails(err error) regulators.Signal {
	return regulators.Func(func(context.Context) (float64, error) { return 0, err })
}

var (
	errDisk = errors.New("disk unreadable")
	errNet  = errors.New("net unreachable")
)

func TestFunc(t *testing.T) {
	for _, p := range []float64{0, 0.5, 1, 1e308} {
		if got, err := reads(p).Pressure(t.Context()); got != p || err != nil {
			t.Errorf("Func returning %v: %v, %v", p, got, err)
		}
	}
	for _, p := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1} {
		got, err := reads(p).Pressure(t.Context())
		if want := fmt.Sprintf("pressure of Func is %v, must be finite", p); err == nil || got != 0 || !strings.Contains(err.Error(), want) {
			t.Errorf("Func returning %v: %v, %v, want 0 and an error with %q", p, got, err, want)
		}
	}
	if _, err := fails(errDisk).Pressure(t.Context()); err != errDisk {
		t.Errorf("error of Func is %v, want the function's own", err)
	}
	if _, err := regulators.Func(nil).Pressure(t.Context()); err == nil || !strings.Contains(err.Error(), "nil") {
		t.Errorf("nil Func: %v, want an error", err)
	}
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, "passed on")
	_, _ = regulators.Func(func(got context.Context) (float64, error) {
		if got.Value(key{}) != "passed on" {
			t.Error("the context did not reach the function")
		}
		return 0, nil
	}).Pressure(ctx)
}

func TestMax(t *testing.T) {
	type signals = []regulators.Signal
	for name, tc := range map[string]struct {
		of   signals
		want float64
		errs []error  // none: no error
		text []string // parts of the error
	}{
		"the highest":               {of: signals{reads(0.2), reads(0.9), reads(0.4)}, want: 0.9},
		"one":                       {of: signals{reads(0.3)}, want: 0.3},
		"all idle":                  {of: signals{reads(0), reads(0)}, want: 0},
		"errors are left out":       {of: signals{fails(errDisk), reads(0.4), fails(errNet)}, want: 0.4},
		"an error and idle is idle": {of: signals{reads(0), fails(errNet)}, want: 0},
		"of Max":                    {of: signals{reads(0.1), regulators.Max(reads(0.7), fails(errNet))}, want: 0.7},
		"all err":                   {of: signals{fails(errDisk), fails(errNet)}, errs: []error{errDisk, errNet}},
		"of none":                   {errs: []error{regulators.ErrNoReading}},
		"nil is not outvoted":       {of: signals{reads(1), nil}, text: []string{"signal 1 of Max is nil"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := regulators.Max(tc.of...).Pressure(t.Context())
			if got != tc.want {
				t.Errorf("pressure %v, want %v", got, tc.want)
			}
			if (err != nil) != (len(tc.errs)+len(tc.text) > 0) {
				t.Fatalf("error %v", err)
			}
			for _, want := range tc.errs {
				if !errors.Is(err, want) {
					t.Errorf("error %q does not wrap %q", err, want)
				}
			}
			for _, want := range tc.text {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

// wild is a Signal of the user's own, which nobody checks before Max.
type wild float64

func (w wild) Pressure(context.Context) (float64, error) { return float64(w), nil }

func TestMaxLeavesOutWhatIsNoPressure(t *testing.T) {
	for _, p := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1} {
		if got, err := regulators.Max(wild(p), reads(0.5)).Pressure(t.Context()); got != 0.5 || err != nil {
			t.Errorf("with %v: %v, %v, want 0.5", p, got, err)
		}
		if got, err := regulators.Max(wild(p)).Pressure(t.Context()); got != 0 || err == nil {
			t.Errorf("of %v alone: %v, %v, want an error", p, got, err)
		}
	}
}

func TestMaxKeepsItsOwnList(t *testing.T) {
	list := []regulators.Signal{reads(0.5)}
	m := regulators.Max(list...)
	list[0] = reads(2)
	if got, _ := m.Pressure(t.Context()); got != 0.5 {
		t.Errorf("pressure %v after the caller changed its slice, want 0.5", got)
	}
}

func TestPollsDoNotAllocate(t *testing.T) {
	var v regulators.Value
	v.Set(0.5)
	goroutines, err := regulators.Goroutines(100)
	if err != nil {
		t.Fatal(err)
	}
	latency := newSchedLatency(t)
	for range 3 { // the runtime makes its histograms on the first polls
		_, _ = latency.Pressure(t.Context())
	}
	m := regulators.Max(&v, goroutines, latency, reads(1))
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		v.Set(0.7)
		if p, err := m.Pressure(ctx); err != nil || p < 1 {
			t.Errorf("pressure %v, error %v", p, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
