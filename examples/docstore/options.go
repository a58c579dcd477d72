package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"
)

// options are what the flags say, checked.
type options struct {
	compare, json    bool
	out              string
	arm              string
	bucket           float64
	rate, reads      float64
	pace             float64
	lagBound         int
	deadline         time.Duration
	cycle, warmUp    time.Duration
	sweep, hot, bulk bool
	seed             uint64

	// Not flags: less of both is for tests.
	shares []float64 // rates that the bucket is tried with, as shares of the follower's pace
	rounds int       // how often the arms are measured, in turn
}

func parseOptions(args []string, stderr io.Writer) (options, error) {
	o := options{warmUp: 2 * time.Second, shares: sweptShares, rounds: 2}
	fs := flag.NewFlagSet("docstore", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.BoolVar(&o.compare, "compare", false, "compare the token bucket with Spillway; takes less than two minutes")
	fs.BoolVar(&o.json, "json", false, "with -compare: print JSON")
	fs.StringVar(&o.out, "out", "", "with -compare: `folder` for docstore.svg; empty: no picture")
	fs.StringVar(&o.arm, "arm", armSpillway, "without -compare: what stands before the node, `token-bucket or spillway`")
	fs.Float64Var(&o.bucket, "bucket", 384, "without -compare: `writes/s` that the token bucket lets through")
	fs.Float64Var(&o.rate, "rate", 1200, "`writes/s` offered")
	fs.Float64Var(&o.reads, "reads", 75, "`reads/s` offered")
	fs.Float64Var(&o.pace, "pace", 1200, "`pages/s` of 4 KB that the follower's disk gives; a small write costs one")
	fs.IntVar(&o.lagBound, "lag-bound", 400, "`entries` that the follower may be behind")
	fs.DurationVar(&o.deadline, "deadline", 4*time.Second, "how long clients wait")
	fs.DurationVar(&o.cycle, "cycle", 8*time.Second, "how long a measurement is; during the last half of each such time the follower's sweep runs")
	fs.BoolVar(&o.sweep, "sweep", true, "let the follower check all its values now and then, which takes three quarters of its disk's time")
	fs.BoolVar(&o.hot, "hot", false, "let half of the requests go to one key")
	fs.BoolVar(&o.bulk, "bulk", false, "add a tenant that writes large values, one write in a hundred")
	fs.Uint64Var(&o.seed, "seed", 1, "of the arrivals and of what is requested")
	if err := parse(fs, args); err != nil {
		return o, err
	}
	if err := o.check(); err != nil {
		return o, fmt.Errorf("%w; %w", err, errUsage)
	}
	return o, nil
}

// check reports all that is wrong at once.
func (o options) check() error {
	var errs []error
	if o.arm != armBucket && o.arm != armSpillway {
		errs = append(errs, fmt.Errorf("-arm is %q, must be %s or %s", o.arm, armBucket, armSpillway))
	}
	for _, f := range []struct {
		name  string
		value float64
	}{{"bucket", o.bucket}, {"rate", o.rate}, {"reads", o.reads}, {"pace", o.pace}, {"lag-bound", float64(o.lagBound)}} {
		if !(f.value >= 1 && f.value <= 100_000) {
			errs = append(errs, fmt.Errorf("-%s is %v, must be 1 to 100000", f.name, f.value))
		}
	}
	if o.deadline <= writeMargin || o.deadline > time.Minute {
		errs = append(errs, fmt.Errorf("-deadline is %v, must be above %v and at most a minute", o.deadline, writeMargin))
	}
	if o.cycle < time.Second || o.cycle > time.Minute {
		errs = append(errs, fmt.Errorf("-cycle is %v, must be a second to a minute", o.cycle))
	}
	if o.json && !o.compare {
		errs = append(errs, errors.New("-json is for -compare"))
	}
	return errors.Join(errs...)
}
