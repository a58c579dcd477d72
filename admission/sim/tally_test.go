package sim

import (
	"math"
	"slices"
	"testing"
	"time"
)

func TestInversion(t *testing.T) {
	for _, c := range []struct {
		name                 string
		seconds              []second
		inversion, shortfall float64
	}{
		{"nothing", nil, 0, 0},
		{"all served", []second{{asked: tiers(5, 5), good: tiers(5, 5)}}, 0, 0},
		{"best first", []second{{asked: tiers(5, 5, 5), good: tiers(5, 2)}}, 0, 0},
		{"worst first", []second{{asked: tiers(5, 0, 0, 0, 0, 5), good: tiers(0, 0, 0, 0, 0, 5)}}, 1, 1},
		{"one of five", []second{{asked: tiers(5, 5), good: tiers(4, 1)}}, 0.2, 0.2},
		{"lower tiers only", []second{{asked: tiers(1, 1, 4, 4), good: tiers(1, 1, 2, 1)}}, 0.2, 0},
		{"each second by itself", []second{
			{asked: tiers(5), good: tiers(1)},
			{asked: tiers(0, 5), good: tiers(0, 5)},
		}, 0, 0},
	} {
		inversion, shortfall := (&tally{seconds: c.seconds}).inversion()
		if math.Abs(inversion-c.inversion) > 1e-12 || math.Abs(shortfall-c.shortfall) > 1e-12 {
			t.Errorf("%s: %v and %v, want %v and %v", c.name, inversion, shortfall, c.inversion, c.shortfall)
		}
	}
}

func tiers(n ...int) (a [6]int) {
	copy(a[:], n)
	return a
}

func TestSteady(t *testing.T) {
	for _, c := range []struct {
		name     string
		s        Scenario
		from, to float64
	}{
		{"constant", Scenario{DurationS: 60, MeasureFromS: 3, Load: Arrivals{Points: []Point{{0, 1}}}}, 3, 60},
		{"step", Scenario{DurationS: 60, MeasureFromS: 3, StepAtS: 20, Load: Arrivals{Points: []Point{{0, 1}, {20, 1}, {20, 2}}}}, 20, 60},
		{"pulse", Scenario{DurationS: 60, StepAtS: 15, Load: Arrivals{Points: []Point{{0, 1}, {15, 1}, {15, 3}, {40, 3}, {40, 0.6}}}}, 15, 40},
		{"servers", Scenario{DurationS: 60, StepAtS: 20, Backend: []Station{{ServersFactor: []Point{{20, 0.5}, {40, 1}}}}}, 20, 40},
		{"speed", Scenario{DurationS: 60, StepAtS: 20, Backend: []Station{{Speed: []Point{{0, 1}, {25, 1}, {25, 0.5}}}}}, 20, 25},
	} {
		if from, to := steady(&c.s); from != c.from || to != c.to {
			t.Errorf("%s: %v to %v, want %v to %v", c.name, from, to, c.from, c.to)
		}
	}
}

func TestSettle(t *testing.T) {
	flat := func(n, per int) []int { return slices.Repeat([]int{per}, n) }
	for _, c := range []struct {
		name string
		good []int
		want time.Duration
	}{
		{"at once", flat(200, 100), 0},
		{"after two seconds", append(flat(20, 10), flat(180, 100)...), 2 * time.Second},
		{"a dip does not count as settled", slices.Concat(flat(10, 100), flat(10, 10), flat(180, 100)), 2 * time.Second},
		{"too short to tell", flat(20, 100), -1},
	} {
		got := settle(&Scenario{StepAtS: 1}, c.good)
		if (got - c.want).Abs() > 200*time.Millisecond {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if got := settle(&Scenario{}, flat(200, 100)); got != -1 {
		t.Errorf("without a step: %v", got)
	}
}

func TestLatencies(t *testing.T) {
	var l, m latencies
	if l.quantile(0.5) != 0 {
		t.Error("a quantile of nothing")
	}
	r := stream{3}
	var all []time.Duration
	for i := range 100_000 {
		d := seconds(0.001 * math.Exp(2*r.normal()))
		all = append(all, d)
		if i%2 == 0 {
			l.add(d)
		} else {
			m.add(d)
		}
	}
	l.merge(&m)
	slices.Sort(all)
	for _, q := range []float64{0, 0.5, 0.9, 0.99, 0.999} {
		near(t, "quantile", l.quantile(q).Seconds(), all[int(q*float64(len(all)))].Seconds(), 0.012)
	}
	for _, d := range []time.Duration{-1, 0, 1, math.MaxInt64} {
		if b := bucket(d); b < 0 || b >= len(l.counts) {
			t.Errorf("%v: bucket %d", d, b)
		}
	}
}

func TestMomentsAndRates(t *testing.T) {
	if mean, sd := moments([]float64{1, 3}); mean != 2 || sd != 1 {
		t.Errorf("mean %v, sd %v", mean, sd)
	}
	if mean, peak := rates([]int{0, 1, 5, 0}); mean != 15 || peak != 50 {
		t.Errorf("mean %v, peak %v", mean, peak)
	}
	if got := part([]int{0, 1, 2, 3, 4}, 0.1, 0.3); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("part is %v", got)
	}
	if got := part([]int{0, 1}, 5, 9); len(got) != 0 {
		t.Errorf("part beyond the end is %v", got)
	}
}
