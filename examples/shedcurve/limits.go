package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/examples/shedcurve/load"
	"github.com/spillway-go/spillway/examples/shedcurve/orders"
	"github.com/spillway-go/spillway/examples/shedcurve/report"
	"github.com/spillway-go/spillway/examples/shedcurve/speed"
)

const (
	defaultLimits = "1,2,3,4,6,8,12,16,24"

	// limitStart is what starting the service afresh takes, seeding its database included.
	limitStart = 500 * time.Millisecond
)

// limitsConfig is what the flags of limits say, checked.
type limitsConfig struct {
	limits []int // pinned ones, rising
	rounds int
	x      float64 // load, in multiples of capacity
	settle time.Duration
	options
}

func parseLimits(args []string, stderr io.Writer) (limitsConfig, error) {
	c := limitsConfig{options: options{window: defaultWindow}}
	var limits string
	var customers int
	fs := flag.NewFlagSet("shedcurve limits", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&limits, "limits", defaultLimits, "pinned limits of each lane to compare the tuner with: `numbers` from 1 on")
	fs.IntVar(&c.rounds, "rounds", 3, "`number` of times that each limit is loaded, the medians count")
	fs.Float64Var(&c.x, "load", 2, "load to offer, as a `multiple` of capacity")
	fs.DurationVar(&c.duration, "duration", 3*time.Second, "how long each load is counted; a quarter of that is offered before and not counted")
	fs.DurationVar(&c.settle, "settle", 10*time.Second, "how long the tuner is then left alone under load until it is counted once more")
	fs.DurationVar(&c.deadline, "deadline", defaultDeadline, "how long a client waits for its answer")
	fs.Uint64Var(&c.seed, "seed", 1, "of arrivals and requests, and of the order in a round")
	fs.BoolVar(&c.json, "json", false, "print the report as JSON instead of a table")
	customersFlag(fs, &customers)
	if err := parseFlags(fs, args); err != nil {
		return c, err
	}
	c.warmUp = c.duration / 4
	if customers > 0 {
		c.sizes = orders.SizesOf(customers)
	}
	var err error
	c.limits, err = parseLimitList(limits)
	errs := []error{err, checkCustomers(customers)}
	if c.rounds < 1 || c.rounds > 100 {
		errs = append(errs, fmt.Errorf("-rounds is %d, must be 1 to 100", c.rounds))
	}
	if !(c.x > 0) || c.x > maxRate {
		errs = append(errs, fmt.Errorf("-load is %v, must be above 0 and at most %d", c.x, maxRate))
	}
	if c.settle < 0 || c.settle > maxDuration {
		errs = append(errs, fmt.Errorf("-settle is %v, must be 0 to %v", c.settle, maxDuration))
	}
	return c, errors.Join(append(errs, c.check())...)
}

// parseLimitList reads limits to pin.
func parseLimitList(s string) (limits []int, err error) {
	for part := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 || checkLimit(n) != nil {
			return nil, fmt.Errorf("-limits has %q, must be whole numbers that a limit can be pinned at, separated by commas", part)
		}
		limits = append(limits, n)
	}
	slices.Sort(limits)
	return slices.Compact(limits), nil
}

// checkLimit reports a limit that a lane cannot be pinned at; 0 is none.
func checkLimit(n int) error { return admission.LimitConfig{Fixed: n}.Validate() }

// sweep measures the tuner next to pinned limits.
type sweep struct {
	cfg    limitsConfig
	curve  curve // for the capacity, the loads and the machine's speed
	report limitsReport
}

// runLimits measures how near the tuner comes to the best pinned limit. In each round every limit gets the same requests,
// each on a service that has just been started. The tuner gets them twice: while it comes down or up from where it
// starts, and once more when it has been left alone for a while.
func runLimits(ctx context.Context, cfg limitsConfig, stdout, stderr io.Writer) error {
	bar := startProgress(stderr, cfg.expected())
	s := sweep{cfg: cfg, curve: curve{opts: cfg.options, bar: bar}}
	err := s.measure(ctx)
	bar.stop()
	if err != nil {
		return err
	}
	if cfg.json {
		enc := json.NewEncoder(stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(s.report)
	}
	return s.report.write(stdout)
}

// expected is how long the run should take. It hides that of the load test, whose arms live through all loads.
func (c limitsConfig) expected() time.Duration {
	const capacity = 20 * time.Second                      // trial, seeding, levels
	loads := time.Duration(c.rounds * (2 + len(c.limits))) // the tuner has two
	return loads*(limitStart+c.warmUp+c.duration+pointRest) + time.Duration(c.rounds)*(c.settle+pointRest) + capacity
}

func (s *sweep) measure(ctx context.Context) error {
	s.curve.bar.say("starting")
	if err := s.curve.prepare(ctx); err != nil {
		return err
	}
	if err := s.capacity(ctx); err != nil {
		return err
	}
	s.report = newLimitsReport(s.cfg, s.curve.report)
	ways := [][]*limitArm{{&s.report.Cold, &s.report.Settled}}
	for i := range s.report.Pinned {
		ways = append(ways, []*limitArm{&s.report.Pinned[i]})
	}
	for i := range s.cfg.rounds {
		seed := s.cfg.seed + uint64(i)
		// In an order of its own, so that a machine that gets slower or faster favours none.
		for _, j := range rand.New(rand.NewPCG(seed, 3)).Perm(len(ways)) {
			s.curve.bar.say("capacity %.0f/s; round %d of %d, limit %s", s.report.CapacityRPS, i+1, s.cfg.rounds, ways[j][0].Name)
			if err := s.load(ctx, s.curve.config(s.cfg.x, seed), ways[j]...); err != nil {
				return fmt.Errorf("limit %s, round %d: %w", ways[j][0].Name, i+1, err)
			}
		}
	}
	s.report.Note = s.curve.speed.Note()
	return s.report.judge()
}

// capacity measures that of the service without Spillway, which then ends.
func (s *sweep) capacity(ctx context.Context) error {
	a, err := startArm(ctx, report.ArmOff, s.curve.opts.sizes)
	if err != nil {
		return err
	}
	defer a.stop()
	s.curve.arms = []arm{a}
	return s.curve.capacity(ctx)
}

// load starts the service, offers it the load once for each of arms, which share a limit, and ends it.
func (s *sweep) load(ctx context.Context, cfg load.Config, arms ...*limitArm) error {
	a, err := startArm(ctx, report.ArmOn, s.curve.opts.sizes, "-limit", strconv.Itoa(arms[0].Limit))
	if err != nil {
		return err
	}
	defer a.stop()
	for i, l := range arms {
		if i > 0 && s.cfg.settle > 0 {
			alone := cfg
			alone.WarmUp, alone.Duration, alone.Slice = 0, s.cfg.settle, speed.SliceOf(s.cfg.settle)
			if _, err := a.offer(ctx, s.cfg.x, alone, &s.curve.speed); err != nil {
				return errors.Join(err, a.dead())
			}
		}
		p, err := a.offer(ctx, s.cfg.x, cfg, &s.curve.speed)
		if err != nil {
			return errors.Join(err, a.dead())
		}
		var at struct {
			Lanes []struct {
				Name  string
				Limit int
			}
		}
		if err := a.child.Ask(ctx, http.MethodGet, "/admission", &at); err != nil {
			return errors.Join(err, a.dead())
		}
		reached := map[string]int{}
		for _, lane := range at.Lanes {
			reached[lane.Name] = lane.Limit
		}
		l.Rounds, l.Reached = append(l.Rounds, p), append(l.Reached, reached)
	}
	return nil
}
