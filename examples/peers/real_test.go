package main

import (
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/shedcurve/orders"

	loadtest "github.com/spillway-go/spillway/examples/shedcurve/load"
)

// pointOf has slices of a second with as many good requests as n says, at these speeds.
func pointOf(steady bool, speeds []float64, n ...int) point {
	p := point{speeds: speeds, steady: steady}
	for _, good := range n {
		p.Slices = append(p.Slices, loadtest.Slice{Result: loadtest.Result{Offered: 2 * good, Good: good, Duration: time.Second}})
	}
	return p
}

// A slice in which the machine did half as much counts as twice as much.
func TestGoodputIsCorrectedBySpeed(t *testing.T) {
	r := realtime{capacity: 200}
	p := pointOf(true, []float64{1, 0.5, 1}, 180, 90, 210)
	if g := r.goodput(p); math.Abs(g-0.95) > 1e-9 {
		t.Errorf("goodput %v, want 0.95", g)
	}
	if s, want := r.spread(p), math.Sqrt(0.015/2/3); math.Abs(s-want) > 1e-9 {
		t.Errorf("standard error %v, want %v", s, want)
	}
	if s := r.spread(point{}); s != 0 {
		t.Errorf("standard error %v of nothing", s)
	}
}

func TestPointsOfRoundsAddUp(t *testing.T) {
	p := point{}.and(pointOf(true, []float64{1}, 10)).and(pointOf(true, []float64{0.8}, 20))
	if len(p.Slices) != 2 || p.speeds[1] != 0.8 || !p.trusted() {
		t.Errorf("two rounds are %+v", p)
	}
	if p = p.and(pointOf(false, []float64{0.5}, 5)); p.trusted() {
		t.Error("a point is trusted, one of whose rounds is not")
	}
	late := pointOf(true, []float64{1}, 10)
	late.lag = 2 * maxLag
	if late.trusted() {
		t.Error("a point is trusted whose generator lagged")
	}
}

// The whole of it, small: the service in processes of its own, one behind Spillway.
func TestRealService(t *testing.T) {
	r := realtime{
		realPlan: realPlan{
			xs: []float64{1, 3}, rounds: 2, warmUp: 50 * time.Millisecond, count: 300 * time.Millisecond,
			limits: []int{4}, sweep: 200 * time.Millisecond, window: 100 * time.Millisecond, deadline: 5 * time.Second,
		},
		sizes:    orders.Sizes{Orders: 2_000, Customers: 110, Products: 1_600},
		progress: io.Discard,
	}
	chosen, err := choose("spillway,x/sync TryAcquire")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.measure(t.Context(), chosen, seed); err != nil {
		t.Fatal(err)
	}
	for _, p := range chosen {
		for i, at := range r.points[p.name] {
			if res := r.result(at); res.Offered == 0 || res.Good == 0 || res.P99 <= 0 || res.Tiers[1].Offered == 0 {
				t.Errorf("%s at %gx: %+v", p.name, r.xs[i], res)
			}
		}
	}
	text := r.text(chosen)
	for _, want := range []string{"| spillway |", "| x/sync TryAcquire (set by hand) |", "limit 4 where", "spillway, SQLite over HTTP: goodput", "standard error"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text has no %q:\n%s", want, text)
		}
	}
	if n := strings.Count(text, "| x/sync TryAcquire"); n != 3 {
		t.Errorf("x/sync has %d rows; it tells no tiers apart, so three are wanted", n)
	}
}
