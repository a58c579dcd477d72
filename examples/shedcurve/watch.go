package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spillway-go/spillway/examples/monitoring"
	"github.com/spillway-go/spillway/examples/shedcurve/load"
	"github.com/spillway-go/spillway/examples/shedcurve/orders"
	"github.com/spillway-go/spillway/examples/shedcurve/report"
	"github.com/spillway-go/spillway/examples/shedcurve/workload"
)

// watchConfig is what the flags of watch say, checked.
type watchConfig struct {
	rates    []float64 // multiples of capacity, one after the other
	rounds   int       // of all rates; 0: until it is ended
	duration time.Duration
	deadline time.Duration
	seed     uint64
	sizes    orders.Sizes // zero: as fits this machine
}

// A demonstration shows within seconds what a service in production tells after minutes.
const (
	watchInterval = time.Second      // between scrapes
	watchFor      = 10 * time.Second // from when an alert's expression holds until it fires
)

func parseWatch(args []string, stderr io.Writer) (watchConfig, error) {
	var (
		c         watchConfig
		rates     string
		customers int
	)
	fs := flag.NewFlagSet("shedcurve watch", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&rates, "rates", "0.5,1,3", "loads to offer in turn, as `multiples` of capacity")
	fs.IntVar(&c.rounds, "rounds", 0, "`number` of times that all of them are offered; 0: until Ctrl-C")
	fs.DurationVar(&c.duration, "duration", 30*time.Second, "how long each load is offered")
	fs.DurationVar(&c.deadline, "deadline", defaultDeadline, "how long a client waits for its answer")
	fs.Uint64Var(&c.seed, "seed", 1, "of arrivals and requests")
	customersFlag(fs, &customers)
	if err := parseFlags(fs, args); err != nil {
		return c, err
	}
	var errs [4]error
	c.rates, errs[0] = parseRates(rates)
	errs[1] = checkCustomers(customers)
	if c.rounds < 0 {
		errs[2] = fmt.Errorf("-rounds is %d, must be 0 or more", c.rounds)
	}
	errs[3] = options{duration: c.duration, deadline: c.deadline}.check()
	if customers > 0 {
		c.sizes = orders.SizesOf(customers)
	}
	return c, errors.Join(errs[:]...)
}

// runWatch starts everything and offers loads until it has offered all or ctx ends.
func runWatch(ctx context.Context, c watchConfig, stdout, stderr io.Writer) error {
	w, err := startWatched(ctx, c, watchFor)
	if err != nil {
		return err
	}
	defer w.stop()
	err = w.run(ctx, stdout, stderr)
	if ctx.Err() != nil {
		return nil // that is how it ends
	}
	return err
}

// watched is the order service behind Spillway, and a Prometheus that scrapes it.
type watched struct {
	arm
	cfg        watchConfig
	mix        *load.Mix
	capacity   float64                // requests/s
	prometheus *monitoring.Prometheus // nil where there is no such program
}

// startWatched starts both, and measures the capacity. Alerts fire when their expressions have held for so long.
func startWatched(ctx context.Context, c watchConfig, alertsFor time.Duration) (w *watched, err error) {
	w = &watched{cfg: c}
	if c.sizes == (orders.Sizes{}) {
		if c.sizes, err = sizesFor(ctx, 0, false); err != nil {
			return nil, err
		}
	}
	if w.mix, err = load.NewMix(workload.Requests(c.sizes)...); err != nil {
		return nil, err
	}
	if w.arm, err = startArm(ctx, report.ArmOn, c.sizes); err != nil {
		return nil, err
	}
	probe := load.Probe{Mix: w.mix, Rounds: 1, Windows: 3, Window: quickWindow, Deadline: c.deadline, Seed: c.seed}
	if w.capacity, err = load.Capacity(ctx, w.client, probe); err == nil {
		w.prometheus, err = monitoring.Start(ctx, monitoring.Config{Target: w.child.At.Admin, Interval: watchInterval, For: alertsFor})
	}
	if err != nil && !errors.Is(err, exec.ErrNotFound) {
		err = errors.Join(err, w.dead())
		w.stop()
		return nil, err
	}
	return w, nil
}

func (w *watched) stop() {
	if w.prometheus != nil {
		w.prometheus.Stop()
	}
	w.arm.stop()
}

// run says what there is to look at, offers the loads in turn, and tells of each what the clients saw and what Prometheus
// says.
func (w *watched) run(ctx context.Context, stdout, stderr io.Writer) error {
	admin := "http://" + w.child.At.Admin
	fmt.Fprintf(stderr, "debug page:  %s/debug/admission\nmetrics:     %s/metrics\n", admin, admin)
	if w.prometheus != nil {
		fmt.Fprintf(stderr, "Prometheus:  %s/alerts\n", w.prometheus.URL)
	} else {
		fmt.Fprintln(stderr, "no prometheus in PATH (Debian's package prometheus has it)")
	}
	fmt.Fprintf(stderr, "capacity %.0f requests/s; Ctrl-C ends all\n", w.capacity)
	for round := 0; w.cfg.rounds == 0 || round < w.cfg.rounds; round++ {
		for _, x := range w.cfg.rates {
			if err := w.show(ctx, x, stdout); err != nil {
				return errors.Join(err, w.dead())
			}
		}
	}
	return nil
}

// offer offers x times the capacity for a while.
func (w *watched) offer(ctx context.Context, x float64) (load.Result, error) {
	w.cfg.seed++
	return offerWhole(ctx, w.arm, load.Config{
		Mix: w.mix, Rate: x * w.capacity, Duration: w.cfg.duration, Deadline: w.cfg.deadline, Seed: w.cfg.seed,
	})
}

// show offers a load and tells what became of it.
func (w *watched) show(ctx context.Context, x float64, stdout io.Writer) error {
	before, err := w.sheds(ctx)
	if err != nil {
		return err
	}
	res, err := w.offer(ctx, x)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%gx: %d offered, %d good, %d shed, %d failed", x, res.Offered, res.Good, res.Shed, res.Failed)
	if w.prometheus != nil {
		after, err := w.sheds(ctx)
		if err != nil {
			return err
		}
		shed := 0
		for k, n := range after {
			shed += n - before[k]
		}
		alerts, err := w.alerts(ctx)
		if err != nil {
			return err
		}
		if len(alerts) == 0 {
			alerts = []string{"no alert"}
		}
		fmt.Fprintf(stdout, "; Prometheus has %d shed, %s", shed, strings.Join(alerts, ", "))
	}
	fmt.Fprintln(stdout)
	return nil
}

// sheds is how many requests were shed until now, as Prometheus has it of a scrape that begins later. It blocks until
// there is one. Without a Prometheus it is nil.
func (w *watched) sheds(ctx context.Context) (map[load.Shed]int, error) {
	if w.prometheus == nil {
		return nil, nil
	}
	// One query alone: a scrape that fails between two would leave nothing for the second. All series are there from
	// the start, as zeros.
	query := fmt.Sprintf(`sum by (priority, reason) (admission_requests_total{decision="shed"}) and on () (timestamp(admission_exempt_requests_total) > %.3f)`,
		float64(time.Now().UnixMilli())/1000)
	for {
		samples, err := w.prometheus.Query(ctx, query)
		if err = errors.Join(err, w.dead()); err != nil {
			return nil, err
		}
		sheds := map[load.Shed]int{}
		for _, s := range samples {
			sheds[load.Shed{Tier: s.Labels["priority"], Reason: s.Labels["reason"]}] = int(s.Value)
		}
		if len(sheds) > 0 {
			return sheds, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// alerts are the names of those that fire, with their lanes.
func (w *watched) alerts(ctx context.Context) ([]string, error) {
	samples, err := w.prometheus.Query(ctx, `ALERTS{alertstate="firing"}`)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range samples {
		names = append(names, s.Labels["alertname"]+" "+s.Labels["lane"])
	}
	slices.Sort(names)
	return names, nil
}
