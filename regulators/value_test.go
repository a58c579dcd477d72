package regulators_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/regulators"
)

func ExampleValue() {
	var lag regulators.Value // set by whoever follows the replica
	_, err := lag.Pressure(context.Background())
	fmt.Println(err)

	const most = 200 * time.Millisecond
	lag.Set(float64(250*time.Millisecond) / float64(most))
	fmt.Println(lag.Pressure(context.Background()))
	// Output:
	// regulators: no reading: the Value was never set
	// 1.25 <nil>
}

func TestValueGrowsStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, err := regulators.NewValue(time.Second)
		if err != nil {
			t.Fatal(err)
		}
		const nothing = -1 // what the acts below want when there is no reading
		for _, act := range []struct {
			why  string
			wait time.Duration
			set  float64 // nothing: not set
			want float64
		}{
			{"never set", 0, nothing, nothing},
			{"fresh", 0, 0.95, 0.95},
			{"as old as may be", time.Second, nothing, 0.95},
			{"too old", 1, nothing, nothing},
			{"and stays so", time.Hour, nothing, nothing},
			{"set again", 0, 0, 0},
			{"renewed in time", 900 * time.Millisecond, 0.3, 0.3},
			{"counts from the last Set", 900 * time.Millisecond, nothing, 0.3},
		} {
			time.Sleep(act.wait)
			if act.set != nothing {
				v.Set(act.set)
			}
			got, err := v.Pressure(t.Context())
			switch {
			case act.want == nothing && !errors.Is(err, regulators.ErrNoReading):
				t.Errorf("%s: %v, %v, want ErrNoReading", act.why, got, err)
			case act.want != nothing && (got != act.want || err != nil):
				t.Errorf("%s: %v, %v, want %v", act.why, got, err, act.want)
			}
		}
	})
}

// A source that dies while it reports overload stops counting by itself, and
// does not hide what the others read meanwhile.
func TestStaleValueDoesNotLatchMax(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dies, err := regulators.NewValue(time.Second)
		if err != nil {
			t.Fatal(err)
		}
		dies.Set(0.95)
		m := regulators.Max(dies, reads(0.1))
		if got, err := m.Pressure(t.Context()); got != 0.95 || err != nil {
			t.Errorf("alive: %v, %v, want 0.95", got, err)
		}
		time.Sleep(2 * time.Second)
		if got, err := m.Pressure(t.Context()); got != 0.1 || err != nil {
			t.Errorf("dead: %v, %v, want 0.1", got, err)
		}
	})
}

func TestZeroValueIsNeverStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var v regulators.Value
		v.Set(0.4)
		time.Sleep(1000 * time.Hour)
		if got, err := v.Pressure(t.Context()); got != 0.4 || err != nil {
			t.Errorf("%v, %v, want 0.4", got, err)
		}
	})
}

func TestValueRefusesWhatIsNoPressure(t *testing.T) {
	var v regulators.Value
	for _, p := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1} {
		v.Set(0.5)
		v.Set(p)
		if got, err := v.Pressure(t.Context()); got != 0 || err == nil || errors.Is(err, regulators.ErrNoReading) {
			t.Errorf("after Set(%v): %v, %v, want an error of its own", p, got, err)
		}
		v.Set(0.2)
		if got, err := v.Pressure(t.Context()); got != 0.2 || err != nil {
			t.Errorf("after a good Set: %v, %v, want 0.2", got, err)
		}
	}
}

func TestNewValueErrors(t *testing.T) {
	for _, age := range []time.Duration{0, -time.Second} {
		v, err := regulators.NewValue(age)
		if v != nil || err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("regulators: maxAge of a Value is %v, must be above 0", age)) {
			t.Errorf("NewValue(%v) = %v, %v", age, v, err)
		}
	}
}

// Under -race this also shows that Set and Pressure may meet.
func TestValueConcurrent(t *testing.T) {
	v, err := regulators.NewValue(time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	v.Set(1)
	var wg sync.WaitGroup
	for writer := range 4 {
		wg.Go(func() {
			for range 1000 {
				v.Set(float64(writer + 1))
			}
		})
		wg.Go(func() {
			for range 1000 {
				if p, err := v.Pressure(t.Context()); err != nil || p < 1 || p > 4 || p != math.Trunc(p) {
					t.Errorf("read %v, %v: nobody set that", p, err)
					return
				}
			}
		})
	}
	wg.Wait()
}
