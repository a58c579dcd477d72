package main

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/spillway-go/spillway/examples/shedcurve/orders"
)

const (
	gaugeEvery  = 100 * time.Millisecond // costs half a percent of the core
	maxReadings = 10_000                 // the last quarter of an hour: more than the longest point
)

// reading is one run of the gauge's statement.
type reading struct {
	At   time.Time     `json:"at"`
	Took time.Duration `json:"took_ns"`
}

// readings are in the order of time.
type readings []reading

// median is that of the readings from one time to another, or the reading closest to that time where there is none in
// it. There must be at least one.
func (r readings) median(from, to time.Time) time.Duration {
	var within []time.Duration
	for _, one := range r {
		if !one.At.Before(from) && one.At.Before(to) {
			within = append(within, one.Took)
		}
	}
	if len(within) == 0 {
		middle := from.Add(to.Sub(from) / 2)
		return slices.MinFunc(r, func(a, b reading) int {
			return cmp.Compare(a.At.Sub(middle).Abs(), b.At.Sub(middle).Abs())
		}).Took
	}
	slices.Sort(within)
	return within[(len(within)-1)/2]
}

// gauge watches how fast the machine is for the service, as long as it runs.
type gauge struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu struct {
		sync.Mutex
		readings readings // never empty
	}
}

// newGauge takes the first reading and goes on until stop.
func newGauge(ctx context.Context, store *orders.Store) (*gauge, error) {
	g := &gauge{}
	if err := g.read(ctx, store); err != nil {
		return nil, err
	}
	ctx, g.cancel = context.WithCancel(context.WithoutCancel(ctx))
	g.wg.Go(func() {
		tick := time.NewTicker(gaugeEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_ = g.read(ctx, store) // a reading is missed; those before and after it tell
			case <-ctx.Done():
				return
			}
		}
	})
	return g, nil
}

func (g *gauge) stop() {
	g.cancel()
	g.wg.Wait()
}

func (g *gauge) read(ctx context.Context, store *orders.Store) error {
	at := time.Now()
	took, err := store.Gauge(ctx)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.mu.readings) == maxReadings {
		g.mu.readings = slices.Delete(g.mu.readings, 0, maxReadings/2)
	}
	g.mu.readings = append(g.mu.readings, reading{at, took})
	return nil
}

// reset forgets all readings but the last, so that there always is one.
func (g *gauge) reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.readings = slices.Delete(g.mu.readings, 0, len(g.mu.readings)-1)
}

func (g *gauge) all() readings {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.mu.readings)
}
