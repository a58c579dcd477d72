package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/spillway-go/spillway/examples/shedcurve/load"
	"github.com/spillway-go/spillway/examples/shedcurve/report"
)

const (
	maxRepeats = 2 // of a point at which the generator lagged

	// Repeats of all points together take at most this share of the run: on a machine that is too busy for
	// the load test every point lags, and measuring everything three times would not mend that.
	repeatShare = 0.15

	probeRounds = 3   // of the capacity's measurement, their median counts
	maxDrift    = 0.1 // of the capacity from the beginning of the run to its end, above which the report says so

	// pointRest is what a point takes beyond its load: the last answers, the reset.
	pointRest = 500 * time.Millisecond
)

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
	const probes, start = (probeRounds + 1) * 5, 4 * time.Second // levels of the capacity's measurement; seeding
	return time.Duration(points)*(o.warmUp+o.duration+pointRest) + probes*o.window + start
}

func (c *curve) measured() bool {
	return slices.ContainsFunc(c.report.Arms, func(a report.Arm) bool { return len(a.Points) > 0 })
}

func (c *curve) measure(ctx context.Context) error {
	c.bar.say("starting")
	defer c.stop()
	if err := c.start(ctx); err != nil {
		return err
	}
	for _, a := range c.arms {
		if err := load.Check(ctx, a.client, c.opts.mix, 5*time.Second); err != nil {
			return errors.Join(err, a.dead())
		}
		c.report.Arms = append(c.report.Arms, report.Arm{Name: a.name})
	}
	capacity, err := c.capacity(ctx, probeRounds)
	if err != nil {
		return err
	}
	c.report.CapacityRPS = capacity
	for i, x := range c.opts.rates {
		for j, a := range c.arms {
			c.bar.say("capacity %.0f/s; arm %s at %gx", c.report.CapacityRPS, a.name, x)
			p, err := c.point(func() (report.Point, error) { return a.offer(ctx, x, c.config(x, c.opts.seed+uint64(i))) })
			if err != nil {
				return fmt.Errorf("arm %s at %gx: %w", a.name, x, errors.Join(err, a.dead()))
			}
			c.report.Arms[j].Points = append(c.report.Arms[j].Points, p)
			c.report.GeneratorLagP99MS = max(c.report.GeneratorLagP99MS, p.LagP99MS)
		}
	}
	again, err := c.capacity(ctx, 1)
	if err != nil {
		return err
	}
	c.report.Note = driftNote(capacity, again)
	return nil
}

// capacity measures the capacity of the first arm, which is the one without Spillway where there are two.
func (c *curve) capacity(ctx context.Context, rounds int) (float64, error) {
	c.bar.say("measuring the capacity")
	a := c.arms[0]
	if a.child != nil {
		if _, err := a.child.reset(ctx); err != nil {
			return 0, err
		}
	}
	rps, err := load.Capacity(ctx, a.client, c.opts.mix, rounds, c.opts.window, c.opts.deadline, c.opts.seed)
	return rps, errors.Join(err, a.dead())
}

// driftNote says that the machine's speed changed during the run, if it did: loads and goodput are multiples of a
// capacity that was not the same all the time.
func driftNote(before, after float64) string {
	if drift := after/before - 1; math.Abs(drift) > maxDrift {
		return fmt.Sprintf("The capacity was %.0f/s before the run and %.0f/s after it: the machine was not equally fast all the time.", before, after)
	}
	return ""
}

// start makes the arms.
func (c *curve) start(ctx context.Context) error {
	if c.opts.target != "" {
		a, err := targetArm(c.opts.target)
		if err != nil {
			return err
		}
		c.arms = append(c.arms, a)
		return nil
	}
	for _, name := range []string{report.ArmOff, report.ArmOn} {
		a, err := startArm(ctx, name, c.opts.orders)
		if err != nil {
			return err
		}
		c.arms = append(c.arms, a)
	}
	return nil
}

func (c *curve) stop() {
	for _, a := range c.arms {
		a.stop()
	}
}

// config is the load of x times the capacity.
func (c *curve) config(x float64, seed uint64) load.Config {
	return load.Config{
		Mix: c.opts.mix, Rate: x * c.report.CapacityRPS, WarmUp: c.opts.warmUp, Duration: c.opts.duration, Deadline: c.opts.deadline, Seed: seed,
	}
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
