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
	"github.com/spillway-go/spillway/examples/shedcurve/orders"
	"github.com/spillway-go/spillway/examples/shedcurve/report"
	"github.com/spillway-go/spillway/examples/shedcurve/speed"
	"github.com/spillway-go/spillway/examples/shedcurve/workload"
)

const (
	maxRepeats = 2 // of a point that is invalid

	// Repeats of all points together take at most this share of the run: on a machine that is too busy for
	// the load test every point is invalid, and measuring everything three times would not mend that.
	repeatShare = 0.16

	// Of the capacity's measurement, medians counting: where one core is all there is, a few clients more change
	// little, but windows of less than a second are a tenth off.
	probeRounds, probeWindows = 2, 5

	// pointRest is what a point takes beyond its load: the last answers, the reset.
	pointRest = 250 * time.Millisecond
)

// curve is one run of the load test.
type curve struct {
	opts    options
	bar     *progress
	arms    []arm
	repeats time.Duration // how much time repeats may still take
	speed   speed.Speedometer
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
	const probes, start = probeRounds*5 + 2*probeWindows, 6 * time.Second // windows of the capacity's measurement; trial and seeding
	own := time.Duration(0)
	if o.scenario {
		own = 3*tierWindows*o.window + refusalTime + time.Second // the scenario
	}
	return time.Duration(points)*(o.warmUp+o.duration+pointRest) + probes*o.window + start + own
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
	if err := c.capacity(ctx); err != nil {
		return err
	}
	if c.opts.scenario {
		s, err := c.scenario(ctx)
		if err == nil {
			err = writeScenario(c.opts.out, s)
		}
		if err != nil {
			return fmt.Errorf("the service as a scenario: %w", err)
		}
	}
	for i, x := range c.opts.rates {
		for j := range c.arms {
			if i%2 == 1 { // neither arm comes first always, so neither has more of the time for repeats
				j = len(c.arms) - 1 - j
			}
			a := c.arms[j]
			c.bar.say("capacity %.0f/s; arm %s at %gx", c.report.CapacityRPS, a.name, x)
			p, err := c.point(func() (report.Point, error) { return a.offer(ctx, x, c.config(x, c.opts.seed+uint64(i)), &c.speed) })
			if err != nil {
				return fmt.Errorf("arm %s at %gx: %w", a.name, x, errors.Join(err, a.dead()))
			}
			c.report.Arms[j].Points = append(c.report.Arms[j].Points, p)
			c.report.GeneratorLagP99MS = max(c.report.GeneratorLagP99MS, p.LagP99MS)
		}
	}
	c.report.Note = c.speed.Note()
	return nil
}

// capacity measures the capacity of the first arm, which is the one without Spillway where there are two, at the
// speed that the machine has for most of that time: this is the reference for all points of both arms.
func (c *curve) capacity(ctx context.Context) error {
	c.bar.say("measuring the capacity")
	a := c.arms[0]
	probe := load.Probe{Mix: c.opts.mix, Rounds: probeRounds, Windows: probeWindows, Window: c.opts.window, Deadline: c.opts.deadline, Seed: c.opts.seed}
	if a.child == nil {
		rps, err := load.Capacity(ctx, a.client, probe)
		c.report.CapacityRPS = rps
		return err
	}
	rps, err := a.child.Capacity(ctx, a.client, probe, &c.speed)
	if err != nil {
		return errors.Join(err, a.dead())
	}
	c.report.CapacityRPS = rps
	return nil
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
	if err := c.prepare(ctx); err != nil {
		return err
	}
	var flags []string
	if c.opts.grpc {
		flags = append(flags, grpcFlag)
	}
	for _, name := range []string{report.ArmOff, report.ArmOn} {
		a, err := startArm(ctx, name, c.opts.sizes, flags...)
		if err != nil {
			return err
		}
		c.arms = append(c.arms, a)
	}
	return nil
}

// prepare decides on the size of our own service and on what to ask it for.
func (c *curve) prepare(ctx context.Context) (err error) {
	if c.opts.sizes == (orders.Sizes{}) {
		if c.opts.sizes, err = sizesFor(ctx, 0, c.opts.grpc); err != nil {
			return err
		}
	}
	c.report.Customers = c.opts.sizes.Customers
	requests := workload.Requests(c.opts.sizes)
	if c.opts.grpc {
		requests = workload.OverGRPC(requests)
	}
	c.opts.mix, err = load.NewMix(requests...)
	return err
}

func (c *curve) stop() {
	for _, a := range c.arms {
		a.stop()
	}
}

// config is the load of x times the capacity.
func (c *curve) config(x float64, seed uint64) load.Config {
	return load.Config{
		Mix: c.opts.mix, Rate: x * c.report.CapacityRPS, WarmUp: c.opts.warmUp, Duration: c.opts.duration, Slice: speed.SliceOf(c.opts.duration),
		Deadline: c.opts.deadline, Seed: seed,
	}
}

// point calls attempt, again while its point is invalid and there is time, and returns the best.
func (c *curve) point(attempt func() (report.Point, error)) (report.Point, error) {
	best, err := attempt()
	took := c.opts.warmUp + c.opts.duration + pointRest
	for range maxRepeats {
		if err != nil || best.Valid || c.repeats < took {
			break
		}
		c.repeats -= took
		var again report.Point
		if again, err = attempt(); err == nil && slices.Compare(flaws(again), flaws(best)) < 0 {
			best = again
		}
	}
	return best, err
}

// flaws are how far a point is from being trusted, the worst first: the generator's lag beyond what may be, how far
// the machine was from the speed that it should have had.
func flaws(p report.Point) []float64 {
	off := 0.0
	if p.Speed != nil {
		off = math.Abs(*p.Speed - 1)
	}
	return []float64{max(0, p.LagP99MS-ms(maxLag)), off}
}
