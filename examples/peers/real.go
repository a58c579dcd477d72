package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	loadtest "github.com/spillway-go/spillway/examples/shedcurve/load"
	"github.com/spillway-go/spillway/examples/shedcurve/orders"
	"github.com/spillway-go/spillway/examples/shedcurve/service"
	"github.com/spillway-go/spillway/examples/shedcurve/speed"
	"github.com/spillway-go/spillway/examples/shedcurve/workload"
)

// realPlan is how long the real service is loaded.
type realPlan struct {
	xs            []float64
	rounds        int // of all peers and loads
	warmUp, count time.Duration
	limits        []int         // that are tried for those whose limit is set by hand, with
	sweep         time.Duration // each
	window        time.Duration // of the capacity's measurement
	deadline      time.Duration // how long a client waits
	repeats       int           // of loads during which the machine had another speed, at most
}

func realPlanOf(quick bool) realPlan {
	p := realPlan{
		xs: []float64{0.5, 1, 1.5, 2, 3, 5, 10}, rounds: 2, warmUp: 3 * time.Second, count: 4 * time.Second,
		limits: []int{1, 2, 3, 4, 6, 8, 12, 16, 24}, sweep: 3 * time.Second, window: 800 * time.Millisecond, deadline: deadline, repeats: 50,
	}
	if quick {
		p.xs, p.rounds, p.warmUp, p.count = []float64{1, 3, 10}, 1, 2*time.Second, 2500*time.Millisecond
		p.limits, p.sweep, p.window, p.repeats = []int{1, 2, 3, 4, 6, 8, 12, 16}, 1500*time.Millisecond, 400*time.Millisecond, 10
	}
	return p
}

const (
	// maxLag is the p99 of the generator's lag above which a load is repeated.
	maxLag = 10 * time.Millisecond
	// nearBest goodput is as good for the limit that is set by hand: closer than that is noise.
	nearBest = 0.97
	// gcPercent is the generator's GOGC: memory is cheaper than lag.
	gcPercent = 400
)

// realtime is what was found on a service in processes of its own: shedcurve's, over HTTP. This process is the generator.
type realtime struct {
	realPlan
	sizes    orders.Sizes // zero: as fit this machine
	mix      *loadtest.Mix
	data     string  // the file whose copies are the services' databases
	capacity float64 // requests/s of the service alone, at the reference speed
	hand     int     // the best static limit at handAt times that
	speed    speed.Speedometer
	points   map[string][]point // by peer, then by x
	progress io.Writer
}

// measure blocks for minutes.
func (r *realtime) measure(ctx context.Context, peers []peer, seed uint64) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // the other core is the service's
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	dir, err := os.MkdirTemp("", "peers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := r.prepare(ctx, dir, seed); err != nil {
		return err
	}
	peers = slices.Clone(peers)
	r.points = map[string][]point{}
	for _, p := range peers {
		r.points[p.name] = make([]point, len(r.xs))
	}
	began, done := time.Now(), 0
	for round := range r.rounds {
		for _, p := range peers {
			if err := r.offerAll(ctx, p.name, seed+uint64(round)); err != nil {
				return fmt.Errorf("%s before the real service: %w", p.name, err)
			}
			done++
			fmt.Fprintf(r.progress, "real service: %d of %d after %v\n", done, r.rounds*len(peers), time.Since(began).Round(time.Second))
		}
		slices.Reverse(peers) // nobody comes late always
	}
	return nil
}

// prepare makes the data, and measures the capacity and the limit that is set by hand.
func (r *realtime) prepare(ctx context.Context, dir string, seed uint64) (err error) {
	if r.sizes == (orders.Sizes{}) {
		if r.sizes, err = workload.Fit(ctx, false); err != nil {
			return err
		}
	}
	if r.mix, err = loadtest.NewMix(workload.Requests(r.sizes)...); err != nil {
		return err
	}
	r.data = filepath.Join(dir, "data.db")
	if err := orders.Create(ctx, r.data, r.sizes); err != nil {
		return err
	}
	err = r.with(ctx, serving{Peer: "none"}, func(c *service.Child, client *loadtest.Client) (err error) {
		probe := loadtest.Probe{Mix: r.mix, Rounds: 2, Windows: 5, Window: r.window, Deadline: r.deadline, Seed: seed}
		r.capacity, err = c.Capacity(ctx, client, probe, &r.speed)
		return err
	})
	if err != nil {
		return fmt.Errorf("the real service's capacity: %w", err)
	}
	fmt.Fprintf(r.progress, "real service: capacity %.0f/s\n", r.capacity)
	return r.sweepLimits(ctx, seed)
}

// sweepLimits finds the least limit that is as good as the best.
func (r *realtime) sweepLimits(ctx context.Context, seed uint64) error {
	goodputs := make([]float64, len(r.limits))
	for i, n := range r.limits {
		err := r.with(ctx, serving{Peer: oraclePeer, Limit: n}, func(c *service.Child, client *loadtest.Client) error {
			p, err := r.offer(ctx, c, client, handAt, r.sweep/4, r.sweep, seed)
			goodputs[i] = r.goodput(p)
			return err
		})
		if err != nil {
			return fmt.Errorf("the real service with limit %d: %w", n, err)
		}
	}
	top := slices.Max(goodputs)
	r.hand = r.limits[slices.IndexFunc(goodputs, func(g float64) bool { return g >= nearBest*top })]
	fmt.Fprintf(r.progress, "real service: limit %d is the one that is set by hand\n", r.hand)
	return nil
}

// offerAll offers all loads, the lightest first, to a peer that has just been started and keeps what it learns.
func (r *realtime) offerAll(ctx context.Context, name string, seed uint64) error {
	return r.with(ctx, serving{Peer: name, Limit: r.hand, Capacity: r.capacity}, func(c *service.Child, client *loadtest.Client) error {
		for i, x := range r.xs {
			p, err := r.offer(ctx, c, client, x, r.warmUp, r.count, seed+uint64(i))
			if err == nil && !p.trusted() && r.repeats > 0 {
				r.repeats--
				p, err = r.offer(ctx, c, client, x, r.warmUp, r.count, seed+uint64(i))
			}
			if err != nil {
				return errors.Join(err, c.Dead())
			}
			r.points[name][i] = r.points[name][i].and(p)
		}
		return nil
	})
}

// offer offers x times the capacity to a service that has come to rest.
func (r *realtime) offer(ctx context.Context, c *service.Child, client *loadtest.Client, x float64, warmUp, count time.Duration, seed uint64) (p point, err error) {
	if _, err := c.Reset(ctx); err != nil {
		return p, err
	}
	all, err := loadtest.Run(ctx, client, loadtest.Config{
		Mix: r.mix, Rate: x * r.capacity, WarmUp: warmUp, Duration: count, Slice: speed.SliceOf(count), Deadline: r.deadline, Seed: seed,
	})
	if err != nil {
		return p, err
	}
	client.Close() // an overload's many connections are not the next load's
	read, err := c.Speed(ctx)
	if err != nil {
		return p, err
	}
	kept := r.speed.Keep(all, read)
	return point{kept.Slices, kept.Speeds, kept.Steady, kept.Lag.Quantile(0.99)}, nil
}

// with calls f while the service runs on data of its own.
func (r *realtime) with(ctx context.Context, s serving, f func(*service.Child, *loadtest.Client) error) error {
	dir, err := os.MkdirTemp(filepath.Dir(r.data), "run-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s.DB = filepath.Join(dir, "orders.db")
	text, err := os.ReadFile(r.data)
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.DB, text, 0o600); err != nil {
		return err
	}
	c, err := service.Start(ctx, "the service behind "+s.Peer, s.args()...)
	if err != nil {
		return err
	}
	defer c.Stop()
	client, err := loadtest.NewClient("http://" + c.At.Addr)
	if err != nil {
		return err
	}
	defer client.Close()
	return f(c, client)
}
