package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/examples/shedcurve/report"
	"github.com/spillway-go/spillway/examples/shedcurve/service"
	"github.com/spillway-go/spillway/examples/shedcurve/speed"
)

// slowArm is an arm whose service says that its machine is half as fast as it was when the capacity was measured.
func slowArm(t *testing.T) arm {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /reset", func(w http.ResponseWriter, _ *http.Request) { service.WriteJSON(w, service.Usage{}) })
	mux.HandleFunc("GET /usage", func(w http.ResponseWriter, _ *http.Request) { service.WriteJSON(w, service.Usage{}) })
	mux.HandleFunc("GET /speed", func(w http.ResponseWriter, _ *http.Request) {
		service.WriteJSON(w, speed.Readings{{At: time.Now(), Took: 2 * time.Millisecond}})
	})
	mux.HandleFunc("GET /", func(http.ResponseWriter, *http.Request) {})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	a, err := targetArm(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.stop)
	a.child = &service.Child{At: service.Addresses{Admin: strings.TrimPrefix(srv.URL, "http://")}}
	return a
}

// A point whose readings are all off is measured again while there is time, and then shown whole and marked.
func TestPointOfASlowMachine(t *testing.T) {
	a := slowArm(t)
	o := short(t, "http://unused", 1)
	c := curve{opts: o, repeats: o.warmUp + o.duration + pointRest, speed: speed.Speedometer{Reference: time.Millisecond}}
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
	at := func(v float64) report.Point { return report.Point{Speed: &v} }
	lag := func(ms float64) report.Point { return report.Point{LagP99MS: ms} }
	for _, tt := range []struct {
		name string
		best report.Point
		more []report.Point
	}{
		{"closer to the right speed", at(0.8), []report.Point{at(0.5), at(1.4)}},
		{"lag weighs more than speed", at(0.5), []report.Point{lag(11), lag(30)}},
		{"the first of two alike", at(0.75), []report.Point{at(1.25), at(0.25)}},
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
