package main

import (
	"maps"
	"math"
	"slices"
	"time"

	loadtest "github.com/spillway-go/spillway/examples/shedcurve/load"
)

// point is what counts of the loads that were alike, one of each round.
type point struct {
	loadtest.Slices
	speeds []float64 // of the slices
	steady bool
	lag    time.Duration
}

// trusted tells whether neither machine nor generator were in the way.
func (p point) trusted() bool { return p.steady && p.lag <= maxLag }

// and adds another round's.
func (p point) and(q point) point {
	return point{append(p.Slices, q.Slices...), append(p.speeds, q.speeds...), q.steady && (len(p.Slices) == 0 || p.steady), max(p.lag, q.lag)}
}

// shares are the goodputs of a point's slices, as shares of the capacity at the speed that the machine had then.
func (r *realtime) shares(p point) (each []float64) {
	for i, s := range p.Slices {
		each = append(each, float64(s.Good)/(r.capacity*p.speeds[i]*s.Duration.Seconds()))
	}
	return each
}

func (r *realtime) goodput(p point) float64 { return mean(r.shares(p)) }

// spread is the standard error of the goodput, by what its slices differ.
func (r *realtime) spread(p point) float64 {
	each := r.shares(p)
	m, squares := mean(each), 0.0
	for _, g := range each {
		squares += (g - m) * (g - m)
	}
	n := float64(len(each))
	return math.Sqrt(squares / max(1, n-1) / max(1, n))
}

// mean is 0 of none.
func mean(v []float64) (m float64) {
	for _, one := range v {
		m += one / float64(len(v))
	}
	return m
}

// result is a point as those in virtual time are, but that its goodput is corrected by the machine's speed.
func (r *realtime) result(p point) result {
	sum := p.Merge(nil)
	res := result{
		tally:   tally{sum.Offered, sum.Good, sum.Shed},
		Goodput: r.goodput(p) * r.capacity,
		P99:     min(r.deadline, sum.Admitted.Quantile(0.99)).Seconds(),
	}
	for _, name := range slices.Sorted(maps.Keys(sum.Tiers)) {
		res.Tiers[name[1]-'0'] = tally(sum.Tiers[name])
	}
	return res
}
