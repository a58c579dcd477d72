package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spillway-go/spillway/examples/shedcurve/load"
	"github.com/spillway-go/spillway/examples/shedcurve/report"
	"github.com/spillway-go/spillway/examples/shedcurve/workload"
)

// noisyConfig is what the flags of noisy say, checked.
type noisyConfig struct {
	pairs    int
	x        float64 // load of all quiet tenants, in multiples of capacity
	duration time.Duration
	deadline time.Duration
	seed     uint64

	customers int
}

func parseNoisy(args []string, stderr io.Writer) (noisyConfig, error) {
	var c noisyConfig
	fs := flag.NewFlagSet("shedcurve noisy", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.IntVar(&c.pairs, "pairs", 5, "`number` of pairs of a run with and one without the noisy tenant")
	fs.Float64Var(&c.x, "load", 0.3, "load of the quiet tenants, as a `multiple` of capacity")
	fs.DurationVar(&c.duration, "duration", 6*time.Second, "how long each run is counted")
	fs.DurationVar(&c.deadline, "deadline", defaultDeadline, "how long a client waits for its answer")
	fs.Uint64Var(&c.seed, "seed", 1, "of arrivals and requests")
	customersFlag(fs, &c.customers)
	if err := parseFlags(fs, args); err != nil {
		return c, err
	}
	errs := []error{checkCustomers(c.customers)}
	if c.pairs < 1 || c.pairs > 100 {
		errs = append(errs, fmt.Errorf("-pairs is %d, must be 1 to 100", c.pairs))
	}
	if !(c.x > 0) || c.x > maxRate {
		errs = append(errs, fmt.Errorf("-load is %v, must be above 0 and at most %d", c.x, maxRate))
	}
	return c, errors.Join(append(errs, options{duration: c.duration, deadline: c.deadline}.check())...)
}

// noisyPair is two runs next to each other.
type noisyPair struct{ without, with, noisy load.Result }

// change is how much longer the quiet tenants' p99 is with the noisy one, as a share.
func (p noisyPair) change() float64 {
	return float64(p.with.Admitted.Quantile(0.99))/float64(p.without.Admitted.Quantile(0.99)) - 1
}

// runNoisy measures what one tenant that asks for ten times its share does to the others of a service behind
// Spillway that is not overloaded.
func runNoisy(ctx context.Context, c noisyConfig, stdout, stderr io.Writer) error {
	bar := startProgress(stderr, time.Duration(2*c.pairs)*(c.duration*7/5+pointRest)+4*time.Second)
	defer bar.stop()
	sizes, err := sizesFor(ctx, c.customers, false)
	if err != nil {
		return err
	}
	quiet, err := load.NewMix(append(workload.Pages(sizes, workload.QuietTenant), workload.Exports(sizes, workload.QuietTenant)...)...)
	if err != nil {
		return err
	}
	noisy, err := load.NewMix(workload.Exports(sizes, func(*rand.Rand) string { return workload.NoisyTenant })...)
	if err != nil {
		return err
	}
	a, err := startArm(ctx, report.ArmOn, sizes)
	if err != nil {
		return err
	}
	defer a.stop()
	capacity, err := load.Capacity(ctx, a.client, load.Probe{Mix: quiet, Rounds: probeRounds, Windows: probeWindows, Window: defaultWindow, Deadline: c.deadline, Seed: c.seed})
	if err != nil {
		return errors.Join(err, a.dead())
	}
	cfg := load.Config{Mix: quiet, Rate: c.x * capacity, WarmUp: c.duration * 2 / 5, Duration: c.duration, Deadline: c.deadline}
	loud := cfg
	loud.Mix, loud.Rate = noisy, workload.NoisyFactor*cfg.Rate/(workload.Tenants-1)
	var pairs []noisyPair
	for i := range c.pairs {
		bar.say("pair %d of %d", i+1, c.pairs)
		cfg.Seed, loud.Seed = c.seed+uint64(i), c.seed+uint64(i)+1<<32
		p, err := measurePair(ctx, a, cfg, loud, i%2 == 0)
		if err != nil {
			return errors.Join(err, a.dead())
		}
		pairs = append(pairs, p)
	}
	return writePairs(stdout, capacity, cfg.Rate, loud.Rate, pairs)
}

// measurePair runs the quiet load without and with the loud one, in this order or the other, so that a machine
// that gets slower or faster favours neither.
func measurePair(ctx context.Context, a arm, quiet, loud load.Config, withoutFirst bool) (p noisyPair, err error) {
	without := func() error {
		if _, err := a.child.Reset(ctx); err != nil {
			return err
		}
		p.without, err = offerWhole(ctx, a, quiet)
		return err
	}
	with := func() error {
		if _, err := a.child.Reset(ctx); err != nil {
			return err
		}
		var wg sync.WaitGroup
		var loudErr error
		wg.Go(func() { p.noisy, loudErr = offerWhole(ctx, a, loud) })
		p.with, err = offerWhole(ctx, a, quiet)
		wg.Wait()
		return errors.Join(err, loudErr)
	}
	first, second := without, with
	if !withoutFirst {
		first, second = with, without
	}
	if err := first(); err != nil {
		return p, err
	}
	return p, second()
}

func offerWhole(ctx context.Context, a arm, cfg load.Config) (load.Result, error) {
	all, err := load.Run(ctx, a.client, cfg)
	return all.Merge(nil), err
}

func writePairs(w io.Writer, capacity, quiet, loud float64, pairs []noisyPair) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "pair\tothers' p99 without\twith\tchange\tothers good without\twith\tnoisy offered\tgood\tover its cap\tlag p99\t")
	for i, p := range pairs {
		lag := max(p.with.Lag.Quantile(0.99), p.without.Lag.Quantile(0.99))
		fmt.Fprintf(tw, "%d\t%.1f ms\t%.1f ms\t%+.0f %%\t%.2f %%\t%.2f %%\t%d\t%d\t%d\t%.1f ms\t\n", i+1,
			ms(p.without.Admitted.Quantile(0.99)), ms(p.with.Admitted.Quantile(0.99)), 100*p.change(),
			100*goodShare(p.without), 100*goodShare(p.with), p.noisy.Offered, p.noisy.Good, p.noisy.Reasons["tenant-cap"], ms(lag))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	slices.SortFunc(pairs, func(a, b noisyPair) int { return int(1e6 * (a.change() - b.change())) })
	_, err := fmt.Fprintf(w, "capacity %.0f/s; the others offered %.0f/s, the noisy tenant %.1f/s, ten times a share; median change of the others' p99: %+.0f %%\n",
		capacity, quiet, loud, 100*pairs[len(pairs)/2].change())
	return err
}

func goodShare(r load.Result) float64 { return float64(r.Good) / float64(max(r.Offered, 1)) }
