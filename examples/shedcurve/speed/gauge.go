package speed

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

const (
	gaugeEvery  = 100 * time.Millisecond // costs half a percent of the core
	maxReadings = 10_000                 // the last quarter of an hour: more than the longest point
)

// Reading is one run of the gauge's statement.
type Reading struct {
	At   time.Time     `json:"at"`
	Took time.Duration `json:"took_ns"`
}

// Readings are in the order of time.
type Readings []Reading

// Median is that of the readings from one time to another, or the reading closest to that time where there is none in
// it. There must be at least one.
func (r Readings) Median(from, to time.Time) time.Duration {
	var within []time.Duration
	for _, one := range r {
		if !one.At.Before(from) && one.At.Before(to) {
			within = append(within, one.Took)
		}
	}
	if len(within) == 0 {
		middle := from.Add(to.Sub(from) / 2)
		return slices.MinFunc(r, func(a, b Reading) int {
			return cmp.Compare(a.At.Sub(middle).Abs(), b.At.Sub(middle).Abs())
		}).Took
	}
	slices.Sort(within)
	return within[(len(within)-1)/2]
}

// Statement is work that is the same every time, and says how long it took: a Store of package orders has one.
type Statement interface {
	Gauge(ctx context.Context) (time.Duration, error)
}

// Gauge watches how fast the machine is for the process that it runs in. It is safe for concurrent use; make it with New.
type Gauge struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu struct {
		sync.Mutex
		readings Readings // never empty
	}
}

// New takes the first reading of the statement and goes on until Stop.
func New(ctx context.Context, s Statement) (*Gauge, error) {
	g := &Gauge{}
	if err := g.read(ctx, s); err != nil {
		return nil, err
	}
	ctx, g.cancel = context.WithCancel(context.WithoutCancel(ctx))
	g.wg.Go(func() {
		tick := time.NewTicker(gaugeEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_ = g.read(ctx, s) // a reading is missed; those before and after it tell
			case <-ctx.Done():
				return
			}
		}
	})
	return g, nil
}

// Stop ends the Gauge. It must be called once.
func (g *Gauge) Stop() {
	g.cancel()
	g.wg.Wait()
}

func (g *Gauge) read(ctx context.Context, s Statement) error {
	at := time.Now()
	took, err := s.Gauge(ctx)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.mu.readings) == maxReadings {
		g.mu.readings = slices.Delete(g.mu.readings, 0, maxReadings/2)
	}
	g.mu.readings = append(g.mu.readings, Reading{at, took})
	return nil
}

// Reset forgets all readings but the last, so that there always is one.
func (g *Gauge) Reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.readings = slices.Delete(g.mu.readings, 0, len(g.mu.readings)-1)
}

// All are the readings since the last reset, at least one.
func (g *Gauge) All() Readings {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.mu.readings)
}
