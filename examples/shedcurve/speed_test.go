package main

import (
	"context"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/shedcurve/load"
	"github.com/spillway-go/spillway/examples/shedcurve/report"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// readAt are readings of a machine at these speeds, five for each slice, as multiples of the speed at which the statement
// takes a millisecond.
func readAt(speeds ...float64) (r readings) {
	for i, v := range speeds {
		for j := range 5 {
			r = append(r, reading{
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
		s := speedometer{reference: time.Millisecond}
		res, leftOut, speeds, ok := s.keep(slicesOf(1, 2, 4, 8), readAt(tt.speeds...))
		speed := mean(speeds)
		if res.Good != tt.good || math.Abs(leftOut-tt.leftOut) > 1e-9 || math.Abs(speed-tt.speed) > 1e-3 || ok != tt.ok {
			t.Errorf("%s: good %04b, left out %v, speed %v, %t; want %04b, %v, %v, %t",
				tt.name, res.Good, leftOut, speed, ok, tt.good, tt.leftOut, tt.speed, tt.ok)
		}
		if want := sliceLength * time.Duration(4*(1-leftOut)); res.Duration != want {
			t.Errorf("%s: counted %v, want %v", tt.name, res.Duration, want)
		}
	}
	var none speedometer
	if res, leftOut, speed, ok := none.keep(slicesOf(1, 2), nil); res.Good != 3 || leftOut != 0 || speed != nil || !ok || none.note() != "" {
		t.Errorf("without a gauge: good %d, left out %v, speed %v, %t, note %q; want that all counts", res.Good, leftOut, speed, ok, none.note())
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
		{"between two readings", second.Add(10 * time.Millisecond), second.Add(20 * time.Millisecond), 2 * time.Millisecond},
		{"before all", epoch.Add(-time.Hour), epoch.Add(-time.Minute), time.Millisecond},
		{"after all", epoch.Add(time.Minute), epoch.Add(time.Hour), time.Millisecond},
		{"the lower of two", second.Add(-gaugeEvery), second.Add(1), time.Millisecond},
	} {
		if got := r.median(tt.from, tt.to); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestSpeedNote(t *testing.T) {
	s := speedometer{reference: time.Millisecond}
	s.keep(slicesOf(1, 1), readAt(1.05, 0.95))
	if n := s.note(); n != "" {
		t.Errorf("a small drift is remarked on: %q", n)
	}
	s.keep(slicesOf(1, 1), readAt(0.5, 1))
	s.keep(slicesOf(1), readAt(1.1))
	if n := s.note(); !strings.Contains(n, "at 50 to 110% of the speed") || !strings.Contains(n, "took 1ms") {
		t.Errorf("note %q", n)
	}
}

// slowArm is an arm whose service says that its machine is half as fast as it was when the capacity was measured.
func slowArm(t *testing.T) arm {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /reset", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, usage{}) })
	mux.HandleFunc("GET /usage", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, usage{}) })
	mux.HandleFunc("GET /speed", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, readings{{time.Now(), 2 * time.Millisecond}})
	})
	mux.HandleFunc("GET /", func(http.ResponseWriter, *http.Request) {})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	a, err := targetArm(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.stop)
	a.child = &child{at: addresses{Admin: strings.TrimPrefix(srv.URL, "http://")}}
	return a
}

// A point whose readings are all off is measured again while there is time, and then shown whole and marked.
func TestPointOfASlowMachine(t *testing.T) {
	a := slowArm(t)
	o := short(t, "http://unused", 1)
	c := curve{opts: o, repeats: o.warmUp + o.duration + pointRest, speed: speedometer{reference: time.Millisecond}}
	c.report.CapacityRPS = 200
	attempts, offered := 0, 0
	p, err := c.point(func() (report.Point, error) {
		attempts++
		p, err := a.offer(context.Background(), 1, c.config(1, 1), &c.speed)
		offered = p.Offered
		return p, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if attempts != 2 || c.repeats != 0 {
		t.Errorf("%d attempts, %v left; want one repeat, for which there was time", attempts, c.repeats)
	}
	if p.Valid || p.LeftOut != 0 || p.Speed == nil || *p.Speed != 0.5 {
		t.Errorf("valid %t, left out %v, speed %v; want an invalid point of speed 0.5, whole", p.Valid, p.LeftOut, p.Speed)
	}
	if p.Offered == 0 || p.Offered != offered || p.DurationS != o.duration.Seconds() {
		t.Errorf("%d offered in %v s; want all %d of the whole %v", p.Offered, p.DurationS, offered, o.duration)
	}
}

// Of two invalid points that is shown whose generator lagged less, and then that whose machine was less far off.
func TestFlaws(t *testing.T) {
	c := func() *curve { return &curve{repeats: time.Hour} }
	speed := func(v float64) report.Point { return report.Point{Speed: &v} }
	lag := func(ms float64) report.Point { return report.Point{LagP99MS: ms} }
	for _, tt := range []struct {
		name string
		best report.Point
		more []report.Point
	}{
		{"closer to the right speed", speed(0.8), []report.Point{speed(0.5), speed(1.4)}},
		{"lag weighs more than speed", speed(0.5), []report.Point{lag(11), lag(30)}},
		{"the first of two alike", speed(0.75), []report.Point{speed(1.25), speed(0.25)}},
	} {
		next := append([]report.Point{tt.best}, tt.more...)
		if tt.name != "the first of two alike" {
			next = append(tt.more, tt.best)
		}
		i := 0
		got, err := c().point(func() (report.Point, error) { i++; return next[i-1], nil })
		if err != nil || got.Speed != tt.best.Speed || got.LagP99MS != tt.best.LagP99MS {
			t.Errorf("%s: got %+v, %v", tt.name, got, err)
		}
	}
}
