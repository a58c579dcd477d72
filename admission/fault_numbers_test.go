package admission

import (
	"context"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/admission/internal/core"
	"github.com/spillway-go/spillway/pid"
	"github.com/spillway-go/spillway/regulators"
)

// B24: a reading that is no number, or absurd, makes everything look
// overloaded, or stays for ever. Each is ignored and counted as a miss.
func TestAbsurdReadingsAreIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		readings := []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 1e308, 0.2}
		inTurn := func() func() float64 {
			i := -1
			return func() float64 { i++; return readings[min(i, len(readings)-1)] }
		}
		next := inTurn()
		source := regulators.Func(func(context.Context) (float64, error) { return next(), nil })
		raw := rawSignal(inTurn()) // straight from the source: the controller trusts no wrapper
		cfg := Config{
			Lanes: map[string]LaneConfig{"default": {Limit: LimitConfig{Min: 2, Max: 100}}},
			Regulators: map[string]RegulatorConfig{
				"source": {Period: 100 * time.Millisecond}, "raw": {Period: 100 * time.Millisecond},
			},
		}
		c := NewQuiet(t, cfg, WithSignal("source", source), WithSignal("raw", raw))
		var wg sync.WaitGroup
		arrivals(&wg, 20, 3*time.Second, func(int) {
			if err := work(context.Background(), c, Request{}, 10*time.Millisecond); err != nil {
				t.Errorf("shed because of a reading: %v", err)
			}
			for _, s := range c.Stats().Signals {
				if !(s.Ratio >= 0 && s.Ratio <= 0.99) {
					t.Errorf("signal %s asks for %v", s.Name, s.Ratio)
				}
			}
		})
		wg.Wait()
		for _, s := range c.Stats().Signals {
			if s.Misses != 5 || s.Stale || s.Pressure != 0.2 || s.Ratio != 0 || s.Err != nil {
				t.Errorf("signal %s after five bad readings and the good one: %+v", s.Name, s)
			}
		}
	})
}

type rawSignal func() float64

func (f rawSignal) Pressure(context.Context) (float64, error) { return f(), nil }

// B24: a window without samples, samples of nothing, one of a whole day.
func TestAbsurdSamplesAreHarmless(t *testing.T) {
	w := newClockwork(t)
	w.run(5 * time.Second)
	for range 100 { // no time at all
		brief := &core.Call{Rank: 400, Cost: 1}
		w.lane.Offer(brief.Rank, 0, false)
		w.lane.Arrive(w.now, brief, 0.5, false)
		w.lane.Release(w.now, brief, Success)
	}
	w.run(5 * time.Second)
	for range 10 * time.Second / (50 * time.Millisecond) { // no samples
		w.now += 50 * time.Millisecond
		w.lane.Tick(w.now, 0.5)
	}
	w.run(5 * time.Second)
	slow := &core.Call{Rank: 400, Cost: 1}
	w.lane.Offer(slow.Rank, 0, false)
	w.lane.Arrive(w.now, slow, 0.5, false)
	w.now += 24 * time.Hour // a suspended machine
	w.lane.Release(w.now, slow, Success)
	before := w.shed()
	w.run(30 * time.Second)
	if n := w.shed() - before; n != 0 {
		t.Errorf("%d shed after a request of a day", n)
	}
	w.quiet()

	law, err := pid.NewLimit(LimitConfig{Min: 2, Max: 100})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		law.Observe(pid.Sample{Service: []time.Duration{0, -1, math.MinInt64, math.MaxInt64, time.Millisecond}[i%5], Inflight: i - 500})
		law.Tick(time.Duration(i)*50*time.Millisecond, pid.Usage{Area: math.NaN(), Chance: math.NaN(), Deadline: -1})
		if l := law.Limit(); l < 2 || l > 100 {
			t.Fatalf("limit is %d, want 2 to 100", l)
		}
	}
}
