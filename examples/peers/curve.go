package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
)

// plan is how long everything is offered.
type plan struct {
	xs     []float64
	limits []int // that the oracle tries
	warmUp time.Duration
	count  time.Duration // of a point
	tiers  time.Duration // of the point at tiersAt, for 10,000 requests of t1
	sweep  time.Duration // of a point of the oracle, whose limit needs no time to be found
	before time.Duration // the step
	after  time.Duration // it
}

const (
	tiersAt = 3.0 // the load at which the tiers' fate is shown
	handAt  = 2.0 // the load at which the best static limit is the one that is set by hand

	stepFrom, stepTo = 0.5, 5.0
	noisyAt          = 3.0

	// oraclePeer is the limiter that the oracle tries limits with.
	oraclePeer = "x/sync TryAcquire"
)

func planOf(quick bool) plan {
	p := plan{
		xs:     []float64{0.5, 0.8, 1, 1.5, 2, 3, 5, 10},
		limits: []int{8, 10, 12, 14, 16, 18, 20, 22, 24, 28, 32, 40, 50, 64, 80, 110},
		warmUp: 30 * time.Second, count: 30 * time.Second, tiers: 60 * time.Second, sweep: 20 * time.Second,
		before: 20 * time.Second, after: 20 * time.Second,
	}
	if quick {
		p.xs = []float64{0.5, 1, 1.5, 2, 3, 5, 10}
		p.limits = []int{12, 16, 18, 20, 24, 28, 32, 40, 64, 110}
		p.warmUp, p.count, p.tiers, p.sweep = 15*time.Second, 10*time.Second, 25*time.Second, 10*time.Second
	}
	return p
}

// findings are all that was found in virtual time.
type findings struct {
	plan
	oracles map[string][]best              // by back end, then by x
	points  map[string]map[string][]result // by back end and peer, then by x
	steps   map[string]map[string]result   // by back end and peer
	noisy   map[string]map[string]result
}

// best is what the best static limit does.
type best struct {
	limit int
	result
}

// closeEnough to the best goodput is as good, so the least limit that is has the best latency.
const closeEnough = 0.99

// measure blocks for minutes.
func (f *findings) measure(ctx context.Context, peers []peer, seed uint64, progress io.Writer) error {
	if err := f.sweepAll(ctx, seed, progress); err != nil {
		return err
	}
	var loads []load
	for _, s := range shapes {
		hand := f.oracles[s.Name][f.index(handAt)].limit
		for _, p := range peers {
			base := load{Peer: p.name, Shape: s, Limit: hand, WarmUp: f.warmUp, Count: f.count, Seed: seed}
			for _, x := range f.xs {
				l := base
				if l.X = x; x == tiersAt {
					l.Count = f.tiers
				}
				loads = append(loads, l)
			}
			step, noisy := base, base
			step.Before, step.X, step.WarmUp, step.Count = stepFrom, stepTo, f.before, f.after
			noisy.X, noisy.Noisy = noisyAt, true
			loads = append(loads, step, noisy)
		}
	}
	results, err := offerAll(ctx, loads, runtime.NumCPU(), counter(progress, "points", len(loads)))
	if err != nil {
		return err
	}
	f.points, f.steps, f.noisy = map[string]map[string][]result{}, map[string]map[string]result{}, map[string]map[string]result{}
	for _, s := range shapes {
		f.points[s.Name], f.steps[s.Name], f.noisy[s.Name] = map[string][]result{}, map[string]result{}, map[string]result{}
	}
	for i, l := range loads {
		switch {
		case l.Noisy:
			f.noisy[l.Shape.Name][l.Peer] = results[i]
		case l.Before > 0:
			f.steps[l.Shape.Name][l.Peer] = results[i]
		default:
			f.points[l.Shape.Name][l.Peer] = append(f.points[l.Shape.Name][l.Peer], results[i])
		}
	}
	return nil
}

// sweepAll finds the oracles.
func (f *findings) sweepAll(ctx context.Context, seed uint64, progress io.Writer) error {
	var loads []load
	for _, s := range shapes {
		for _, x := range f.xs {
			for _, n := range f.limits {
				loads = append(loads, load{
					Peer: oraclePeer, Shape: s, Limit: n, X: x, WarmUp: time.Second, Count: f.sweep, Seed: seed,
				})
			}
		}
	}
	results, err := offerAll(ctx, loads, runtime.NumCPU(), counter(progress, "limits tried for the oracle", len(loads)))
	if err != nil {
		return err
	}
	f.oracles = map[string][]best{}
	for i := 0; i < len(loads); i += len(f.limits) {
		tried := results[i : i+len(f.limits)]
		top := slices.MaxFunc(tried, func(a, b result) int { return a.Good - b.Good })
		k := slices.IndexFunc(tried, func(r result) bool { return r.Goodput >= closeEnough*top.Goodput })
		name := loads[i].Shape.Name
		f.oracles[name] = append(f.oracles[name], best{f.limits[k], tried[k]})
	}
	return nil
}

// counter tells of every tenth part that is done. The function that it returns may be called by many.
func counter(w io.Writer, what string, n int) func() {
	var done atomic.Int64
	began := time.Now()
	return func() {
		if k := int(done.Add(1)); k*10/n != (k-1)*10/n {
			fmt.Fprintf(w, "%s: %d of %d after %v\n", what, k, n, time.Since(began).Round(time.Second))
		}
	}
}

// settled is how long after the step goodput comes within settledShare of full for good, seen in windows of
// a second; ok is false when it never does.
func settled(r result, full float64) (d time.Duration, ok bool) {
	const window = int(time.Second / slice)
	sum, bad := 0, -1
	for k, n := range r.Slices {
		if sum += n; k >= window {
			sum -= r.Slices[k-window]
		}
		if k >= window-1 && float64(sum) < settledShare*full {
			bad = k
		}
	}
	if bad >= len(r.Slices)-window || len(r.Slices) < window {
		return 0, false
	}
	return time.Duration(bad+1) * slice, true
}

const settledShare = 0.85
