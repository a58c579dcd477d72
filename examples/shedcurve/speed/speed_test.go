package speed

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/shedcurve/load"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// readAt are readings of a machine at these speeds, five for each slice, as multiples of the speed at which the statement
// takes a millisecond.
func readAt(speeds ...float64) (r Readings) {
	for i, v := range speeds {
		for j := range 5 {
			r = append(r, Reading{
				At:   epoch.Add(time.Duration(i)*sliceLength + time.Duration(j)*gaugeEvery),
				Took: time.Duration(float64(time.Millisecond) / v),
			})
		}
	}
	return r
}

// slicesOf are slices in which as many requests were good as n says.
func slicesOf(n ...int) (s load.Slices) {
	for i, good := range n {
		s = append(s, load.Slice{
			Start:  epoch.Add(time.Duration(i) * sliceLength),
			Result: load.Result{Offered: good, Good: good, Duration: sliceLength},
		})
	}
	return s
}

// The numbers of good requests are powers of two, so that their sum tells which slices were counted.
func TestKeepSlicesOfTheRightSpeed(t *testing.T) {
	for _, tt := range []struct {
		name    string
		speeds  []float64
		good    int
		leftOut float64
		speed   float64
		ok      bool
	}{
		{"steady", []float64{1, 1, 1, 1}, 0b1111, 0, 1, true},
		{"near enough", []float64{0.72, 1.28, 1, 0.9}, 0b1111, 0, 0.975, true},
		{"one slow", []float64{1, 0.69, 1, 1}, 0b1101, 0.25, 1, true},
		{"one fast, one slow", []float64{1.4, 1.2, 1.1, 0.5}, 0b0110, 0.5, 1.15, true},
		{"more than half slow", []float64{0.5, 0.6, 0.5, 1}, 0b1111, 0, 0.65, false},
		{"all slow", []float64{0.5, 0.5, 0.5, 0.5}, 0b1111, 0, 0.5, false},
		{"all fast", []float64{1.4, 1.4, 1.6, 1.4}, 0b1111, 0, 1.45, false},
	} {
		s := Speedometer{Reference: time.Millisecond}
		kept := s.Keep(slicesOf(1, 2, 4, 8), readAt(tt.speeds...))
		res, leftOut, speed, ok := kept.Result, kept.LeftOut, kept.Speed(), kept.Steady
		if res.Good != tt.good || math.Abs(leftOut-tt.leftOut) > 1e-9 || math.Abs(speed-tt.speed) > 1e-3 || ok != tt.ok {
			t.Errorf("%s: good %04b, left out %v, speed %v, %t; want %04b, %v, %v, %t",
				tt.name, res.Good, leftOut, speed, ok, tt.good, tt.leftOut, tt.speed, tt.ok)
		}
		if kept.Slices.Merge(nil).Good != res.Good {
			t.Errorf("%s: the slices that are kept are not those that were merged", tt.name)
		}
		if want := sliceLength * time.Duration(4*(1-leftOut)); res.Duration != want {
			t.Errorf("%s: counted %v, want %v", tt.name, res.Duration, want)
		}
	}
	var none Speedometer
	if k := none.Keep(slicesOf(1, 2), nil); k.Good != 3 || len(k.Slices) != 2 || k.LeftOut != 0 || k.Speeds != nil || k.Speed() != 1 || !k.Steady || none.Note() != "" {
		t.Errorf("without a gauge: %+v, note %q; want that all counts", k, none.Note())
	}
}

// One reading that was disturbed changes nothing, and a slice without any has the speed of the time around it.
func TestMedianOfReadings(t *testing.T) {
	r := readAt(1, 0.5, 1)
	r[2].Took = time.Hour
	second := epoch.Add(sliceLength)
	for _, tt := range []struct {
		name     string
		from, to time.Time
		want     time.Duration
	}{
		{"first slice", epoch, second, time.Millisecond},
		{"second slice", second, second.Add(sliceLength), 2 * time.Millisecond},
		{"between two Readings", second.Add(10 * time.Millisecond), second.Add(20 * time.Millisecond), 2 * time.Millisecond},
		{"before all", epoch.Add(-time.Hour), epoch.Add(-time.Minute), time.Millisecond},
		{"after all", epoch.Add(time.Minute), epoch.Add(time.Hour), time.Millisecond},
		{"the lower of two", second.Add(-gaugeEvery), second.Add(1), time.Millisecond},
	} {
		if got := r.Median(tt.from, tt.to); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestSpeedNote(t *testing.T) {
	s := Speedometer{Reference: time.Millisecond}
	s.Keep(slicesOf(1, 1), readAt(1.05, 0.95))
	if n := s.Note(); n != "" {
		t.Errorf("a small drift is remarked on: %q", n)
	}
	s.Keep(slicesOf(1, 1), readAt(0.5, 1))
	s.Keep(slicesOf(1), readAt(1.1))
	if n := s.Note(); !strings.Contains(n, "at 50 to 110% of the speed") || !strings.Contains(n, "took 1ms") {
		t.Errorf("note %q", n)
	}
}
