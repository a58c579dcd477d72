package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-go/spillway/examples/shedcurve/load"
	"github.com/spillway-go/spillway/examples/shedcurve/orders"
)

// options are what the flags say, checked.
type options struct {
	target   string    // URL of somebody's own service; empty: start our own
	mix      *load.Mix // what to request; nil: what our own service is for
	rates    []float64 // multiples of capacity, rising
	warmUp   time.Duration
	duration time.Duration
	window   time.Duration // of a number of clients, while capacity is measured
	deadline time.Duration
	seed     uint64
	out      string
	json     bool
	grpc     bool         // our own service speaks gRPC
	scenario bool         // it is also written as one
	sizes    orders.Sizes // of our own service; zero: as fits this machine
}

// Of the default run: sixteen points and the capacity within two minutes, with room for some repeats.
const (
	defaultRates    = "0.5,0.8,1,1.5,2,3,5,10"
	defaultDuration = 4 * time.Second
	defaultWindow   = 800 * time.Millisecond

	// quickRates and the like fit into half a minute.
	quickRates    = "0.5,1,3,10"
	quickDuration = time.Second
	quickWindow   = 350 * time.Millisecond
	quickWarmUp   = 800 * time.Millisecond // a quarter of the duration would show little but how a limit finds itself

	// defaultDeadline is some ten times what a request takes at half the capacity. Longer hides a
	// collapse, because requests that wait for ever are then good; shorter than a few times the
	// slowest request makes failures of nothing but chance.
	defaultDeadline = 250 * time.Millisecond

	minDuration, maxDuration = 100 * time.Millisecond, 10 * time.Minute
	minDeadline, maxDeadline = 10 * time.Millisecond, time.Minute
	maxRate                  = 100
)

// helpText goes before the flags.
const helpText = `Usage of shedcurve:

  shedcurve [flags]          load a service at several multiples of its capacity, and draw the shed curve
  shedcurve serve [flags]    run the load test's own service alone
  shedcurve sim [flags]      run scenarios in virtual time, and try configs on them
  shedcurve noisy [flags]    measure what one noisy tenant does to the others
  shedcurve watch [flags]    load the service over and over, with a Prometheus and the debug page to look at
  shedcurve limits [flags]   compare the limit that finds itself with pinned ones

Each has its own -help.

A shared machine may be half as fast for seconds at a time, so our own service runs a small fixed statement
ten times a second, which tells the machine's speed. The capacity is measured at one speed, the reference:
throughput at any other is scaled to it, and goodput is shown as a share of the capacity at the speed that the
machine had then. Of each load, with and without Spillway alike, the half-seconds count in which the speed
was within 30 % of the reference; a load that keeps less than half of its time is repeated, and marked
invalid if that does not help.

`

func parseOptions(args []string, stderr io.Writer) (options, error) {
	var (
		o        options
		rates    string
		requests []string
		file     string
		quick    bool

		customers int
	)
	fs := flag.NewFlagSet("shedcurve", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprint(stderr, helpText)
		fs.PrintDefaults()
	}
	fs.StringVar(&o.target, "target", "", "load the service at this `URL` instead of starting one: http://, https:// or grpc://host:port, which needs server reflection")
	fs.Func("request", "`line` that describes requests to -target, such as 'weight=3 tier=t1 GET /x' or, for gRPC, 'tier=t1 /package.Service/Method {\"id\": 1}'; may be repeated",
		func(s string) error { requests = append(requests, s); return nil })
	fs.StringVar(&file, "requests", "", "YAML `file` that describes requests to -target: a list of {weight, tier, tenant, method, path, body, header}")
	fs.StringVar(&rates, "rates", defaultRates, "loads to offer, as `multiples` of capacity")
	fs.DurationVar(&o.duration, "duration", defaultDuration, "how long each load is counted; a quarter of that (with -quick at least 0.8 s) is offered before and not counted")
	fs.DurationVar(&o.deadline, "deadline", defaultDeadline, "how long a client waits for its answer")
	fs.Uint64Var(&o.seed, "seed", 1, "of arrivals and requests")
	fs.StringVar(&o.out, "out", ".", "`folder` to write the report's files to")
	fs.BoolVar(&o.json, "json", false, "print the report as JSON instead of a table")
	fs.BoolVar(&o.grpc, "grpc", false, "our own service speaks gRPC instead of HTTP")
	customersFlag(fs, &customers)
	fs.BoolVar(&quick, "quick", false, "fewer loads for a shorter time, and no scenario: under 30 s")
	if err := parseFlags(fs, args); err != nil {
		if fs.NArg() > 0 {
			err = fmt.Errorf("%w: must be one of the commands serve, sim, noisy, watch, limits, or a flag", err)
		}
		return o, err
	}
	o.window = defaultWindow
	if customers > 0 {
		o.sizes = orders.SizesOf(customers)
	}
	if quick {
		given := map[string]bool{}
		fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
		o.window = quickWindow
		if !given["duration"] {
			o.duration = quickDuration
		}
		if !given["rates"] {
			rates = quickRates
		}
	}
	o.warmUp = o.duration / 4
	o.scenario = o.target == "" && !quick
	if quick {
		o.warmUp = max(o.warmUp, quickWarmUp)
	}

	var errs [4]error
	o.rates, errs[0] = parseRates(rates)
	errs[1] = o.check()
	o.mix, errs[2] = parseMix(o.target, requests, file)
	if errs[3] = checkCustomers(customers); customers != 0 && o.target != "" {
		errs[3] = errors.New("-customers is for our own service, not for -target")
	}
	if o.grpc && o.target != "" {
		errs[3] = errors.Join(errs[3], errors.New("-grpc is for our own service, not for -target"))
	}
	return o, errors.Join(errs[:]...)
}

func (o options) check() error {
	var errs []error
	if o.duration < minDuration || o.duration > maxDuration {
		errs = append(errs, fmt.Errorf("-duration is %v, must be %v to %v", o.duration, minDuration, maxDuration))
	}
	if o.deadline < minDeadline || o.deadline > maxDeadline {
		errs = append(errs, fmt.Errorf("-deadline is %v, must be %v to %v", o.deadline, minDeadline, maxDeadline))
	}
	if o.target != "" {
		if _, err := load.ParseTarget(o.target); err != nil {
			errs = append(errs, fmt.Errorf("-target: %w", err))
		}
	}
	return errors.Join(errs...)
}

// parseRates reads rising, positive multiples.
func parseRates(s string) ([]float64, error) {
	var rates []float64
	for part := range strings.SplitSeq(s, ",") {
		x, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || !(x > 0) || x > maxRate {
			return nil, fmt.Errorf("-rates has %q, must be numbers above 0 and at most %d, separated by commas", part, maxRate)
		}
		rates = append(rates, x)
	}
	slices.Sort(rates)
	return slices.Compact(rates), nil
}

// parseMix reads what to request of target; it is nil for our own service.
func parseMix(target string, lines []string, file string) (*load.Mix, error) {
	described := len(lines) > 0 || file != ""
	switch {
	case target == "" && described:
		return nil, errors.New("-request and -requests describe requests to -target, which is missing")
	case target == "":
		return nil, nil
	case !described:
		return nil, errors.New("-target needs -request or -requests")
	}
	var classes []load.Class
	var errs []error
	for _, l := range lines {
		c, err := load.ParseRequest(l)
		if err != nil {
			errs = append(errs, fmt.Errorf("-request: %w", err))
		}
		classes = append(classes, c)
	}
	if file != "" {
		more, err := readRequests(file)
		if err != nil {
			errs = append(errs, fmt.Errorf("-requests: %w", err))
		}
		classes = append(classes, more...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return load.NewMix(classes...)
}

func readRequests(file string) ([]load.Class, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	classes, err := load.ParseRequests(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return classes, nil
}
