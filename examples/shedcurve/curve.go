package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/spillway-go/spillway/examples/shedcurve/load"
	"github.com/spillway-go/spillway/examples/shedcurve/orders"
	"github.com/spillway-go/spillway/examples/shedcurve/report"
)

const (
	maxLag     = 10 * time.Millisecond // p99 of the generator's lag, above which a point is not to be trusted
	maxRepeats = 2                     // of one such point

	// Repeats of all points together take at most this share of the run: on a machine that is too busy for
	// the load test every point lags, and measuring everything three times would not mend that.
	repeatShare = 0.15

	// pointRest is what a point takes beyond its load: the last answers, the reset.
	pointRest = 500 * time.Millisecond
)

// arm is one way of running the service.
type arm struct {
	name   string
	client *load.Client
	child  *child // nil when somebody else runs the service
}

// curve is one run of the load test.
type curve struct {
	opts    options
	bar     *progress
	arms    []arm
	repeats time.Duration // how much time repeats may still take
	report  report.Report
}

func newCurve(opts options, stderr io.Writer) *curve {
	total := opts.expected()
	return &curve{
		opts: opts, bar: startProgress(stderr, total), repeats: time.Duration(repeatShare * float64(total)),
		report: report.Report{
			DeadlineMS: ms(opts.deadline), Seed: opts.seed, StartedAt: time.Now().UTC().Truncate(time.Second), GoVersion: runtime.Version(),
		},
	}
}

// run runs the load test and reports it. What was measured before an error is reported too.
func (c *curve) run(ctx context.Context, stdout io.Writer) error {
	err := os.MkdirAll(c.opts.out, 0o777)
	if err == nil {
		err = c.measure(ctx)
	}
	c.bar.stop()
	if err != nil {
		if !c.measured() {
			return err
		}
		c.report.Note = "The run ended early: " + err.Error()
		err = fmt.Errorf("the run ended early, the report has what was measured before: %w", err)
	}
	if c.opts.json {
		err = errors.Join(err, c.report.WriteJSON(stdout))
	} else {
		err = errors.Join(err, c.report.WriteTable(stdout))
	}
	return errors.Join(err, c.report.WriteFiles(c.opts.out))
}

// expected is how long the run should take without repeats.
func (o options) expected() time.Duration {
	points := len(o.rates)
	if o.target == "" {
		points *= 2
	}
	const probes, start = 3 * 5, 3 * time.Second // levels of the capacity probe; seeding the data
	return time.Duration(points)*(o.warmUp+o.duration+pointRest) + probes*o.window + start
}

func (c *curve) measured() bool {
	return slices.ContainsFunc(c.report.Arms, func(a report.Arm) bool { return len(a.Points) > 0 })
}

func (c *curve) measure(ctx context.Context) error {
	c.bar.say("starting")
	stop, err := c.start(ctx)
	if err != nil {
		return err
	}
	defer stop()
	for _, a := range c.arms {
		if err := load.Check(ctx, a.client, c.opts.mix, 5*time.Second); err != nil {
			return errors.Join(err, a.dead())
		}
		c.report.Arms = append(c.report.Arms, report.Arm{Name: a.name})
	}
	c.bar.say("measuring the capacity")
	first := c.arms[0] // without Spillway, if that is our choice
	c.report.CapacityRPS, err = load.Capacity(ctx, first.client, c.opts.mix, c.opts.window, c.opts.deadline, c.opts.seed)
	if err != nil {
		return errors.Join(err, first.dead())
	}
	for i, x := range c.opts.rates {
		for j, a := range c.arms {
			c.bar.say("capacity %.0f/s; arm %s at %gx", c.report.CapacityRPS, a.name, x)
			p, err := c.point(func() (report.Point, error) { return c.attempt(ctx, a, x, c.opts.seed+uint64(i)) })
			if err != nil {
				return fmt.Errorf("arm %s at %gx: %w", a.name, x, errors.Join(err, a.dead()))
			}
			c.report.Arms[j].Points = append(c.report.Arms[j].Points, p)
			c.report.GeneratorLagP99MS = max(c.report.GeneratorLagP99MS, p.LagP99MS)
		}
	}
	return nil
}

// start makes the arms; stop takes them down.
func (c *curve) start(ctx context.Context) (stop func(), err error) {
	var undo []func()
	stop = func() {
		for _, f := range slices.Backward(undo) {
			f()
		}
	}
	defer func() {
		if err != nil {
			stop()
		}
	}()
	if c.opts.target != "" {
		client, err := load.NewClient(c.opts.target)
		if err != nil {
			return stop, err
		}
		undo = append(undo, client.Close)
		c.arms = []arm{{name: report.ArmTarget, client: client}}
		return stop, nil
	}
	dir, err := os.MkdirTemp("", "shedcurve-")
	if err != nil {
		return stop, err
	}
	undo = append(undo, func() { os.RemoveAll(dir) })
	seeded := filepath.Join(dir, "orders.db")
	if err := orders.Create(ctx, seeded, c.opts.orders); err != nil {
		return stop, err
	}
	data, err := os.ReadFile(seeded)
	if err != nil {
		return stop, err
	}
	for _, name := range []string{report.ArmOff, report.ArmOn} {
		db := filepath.Join(dir, name+".db")
		if err := os.WriteFile(db, data, 0o666); err != nil {
			return stop, err
		}
		child, err := startChild(ctx, db, name)
		if err != nil {
			return stop, err
		}
		undo = append(undo, child.stop)
		client, err := load.NewClient("http://" + child.at.Addr)
		if err != nil {
			return stop, err
		}
		undo = append(undo, client.Close)
		c.arms = append(c.arms, arm{name, client, child})
	}
	return stop, nil
}

// dead says how the arm's child ended, nil while it lives or where there is none.
func (a arm) dead() error {
	if a.child == nil {
		return nil
	}
	return a.child.dead()
}

// point calls attempt, again while the generator lagged and there is time, and returns the point that lagged least.
func (c *curve) point(attempt func() (report.Point, error)) (report.Point, error) {
	best, err := attempt()
	took := c.opts.warmUp + c.opts.duration + pointRest
	for range maxRepeats {
		if err != nil || best.Valid || c.repeats < took {
			break
		}
		c.repeats -= took
		var again report.Point
		if again, err = attempt(); err == nil && again.LagP99MS < best.LagP99MS {
			best = again
		}
	}
	return best, err
}

// attempt offers one load to one arm.
func (c *curve) attempt(ctx context.Context, a arm, x float64, seed uint64) (report.Point, error) {
	var before usage
	if a.child != nil {
		if err := a.child.reset(ctx); err != nil {
			return report.Point{}, err
		}
		var err error
		if before, err = a.child.usage(ctx); err != nil {
			return report.Point{}, err
		}
	}
	start := time.Now()
	res, err := load.Run(ctx, a.client, load.Config{
		Mix: c.opts.mix, Rate: x * c.report.CapacityRPS, WarmUp: c.opts.warmUp, Duration: c.opts.duration, Deadline: c.opts.deadline, Seed: seed,
	})
	if err != nil {
		return report.Point{}, err
	}
	p := pointOf(x, res)
	if a.child != nil {
		elapsed := time.Since(start)
		after, err := a.child.usage(ctx)
		if err != nil {
			return report.Point{}, err
		}
		p.GoroutinesPeak, p.HeapPeakBytes = &after.GoroutinesPeak, &after.HeapPeakBytes
		if before.CPUSeconds != nil && after.CPUSeconds != nil {
			// Of the whole load, warm-up included; the report wants it for the time that counts.
			s := (*after.CPUSeconds - *before.CPUSeconds) * res.Duration.Seconds() / elapsed.Seconds()
			p.CPUSeconds = &s
		}
	}
	a.client.Close() // an overload's many connections are not the next load's
	return p, nil
}

// pointOf is what the report says of a load's result.
func pointOf(x float64, r load.Result) report.Point {
	lag := r.Lag.Quantile(0.99)
	p := report.Point{
		X: x, OfferedRPS: float64(r.Offered) / r.Duration.Seconds(), GoodputRPS: float64(r.Good) / r.Duration.Seconds(),
		Offered: r.Offered, Good: r.Good, Admitted: r.Offered - r.Shed, Shed: r.Shed, Failed: r.Failed,
		Tiers: tallies(r.Tiers), Tenants: tallies(r.Tenants), Reasons: r.Reasons, RetryAfter: report.RetryAfter{Distinct: len(r.RetryAfter)},
		DurationS: r.Duration.Seconds(), LagP99MS: ms(lag), Valid: lag <= maxLag,
	}
	if r.Admitted.Count() > 0 {
		p50, p99 := ms(r.Admitted.Quantile(0.5)), ms(r.Admitted.Quantile(0.99))
		p.AdmittedP50MS, p.AdmittedP99MS = &p50, &p99
	}
	if len(r.RetryAfter) > 0 {
		seconds := slices.Sorted(maps.Keys(r.RetryAfter))
		least, most := float64(seconds[0]), float64(seconds[len(seconds)-1])
		p.RetryAfter.Min, p.RetryAfter.Max = &least, &most
	}
	return p
}

func tallies(m map[string]load.Tally) map[string]report.Tally {
	out := make(map[string]report.Tally, len(m))
	for k, t := range m {
		out[k] = report.Tally(t)
	}
	return out
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
