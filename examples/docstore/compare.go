package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"time"
)

// sweptShares are the rates that the bucket is tried with, as shares of the follower's pace: from what a sweep leaves
// of it to nearly all of it.
var sweptShares = []float64{0.25, 0.32, 0.4, 0.6, 0.95}

// sweptDeadline is the clients' deadline while rates are tried: how long writes wait for a bucket does not change how
// many it lets through.
const sweptDeadline = 1500 * time.Millisecond

// compare finds the bucket's best rate, measures both arms in turn, and reports to stdout and into files.
func compare(ctx context.Context, o options, stdout, stderr io.Writer) error {
	res := result{Seed: o.seed, OfferedRPS: o.rate + o.reads, LagBound: o.lagBound}
	short := o
	short.deadline = min(o.deadline, sweptDeadline)
	for i, share := range o.shares {
		perSecond := math.Round(share * o.pace)
		out, err := measure(ctx, short, armBucket, perSecond)
		if err != nil {
			return err
		}
		a := armOf(armBucket, out)
		res.Swept = append(res.Swept, swept{perSecond, a.ServedRPS, a.LagPeak})
		fmt.Fprintf(stderr, "bucket %d of %d: %4.0f writes/s, %.0f requests/s served, lag up to %d\n", i+1, len(o.shares), perSecond, a.ServedRPS, a.LagPeak)
	}
	best, err := res.best()
	if err != nil {
		return err
	}
	res.BucketRate = best
	arms := []string{armBucket, armSpillway}
	outs := make([]outcome, len(arms))
	for i := range o.rounds {
		for j, arm := range arms {
			out, err := measure(ctx, o, arm, best)
			if err != nil {
				return err
			}
			a := armOf(arm, out)
			fmt.Fprintf(stderr, "round %d of %d, %-12s %.0f requests/s served, lag up to %d\n", i+1, o.rounds, arm+":", a.ServedRPS, a.LagPeak)
			outs[j].add(out)
		}
	}
	for j, arm := range arms {
		res.Arms = append(res.Arms, armOf(arm, outs[j]))
	}
	if o.out != "" {
		path := filepath.Join(o.out, "docstore.svg")
		if err := res.writeSVG(path); err != nil {
			return err
		}
		fmt.Fprintln(stderr, "wrote", path)
	}
	if o.json {
		return res.writeJSON(stdout)
	}
	return res.writeText(stdout)
}

// best is the rate that served most of those that kept the lag within its bound.
func (r result) best() (perSecond float64, err error) {
	within := slices.DeleteFunc(slices.Clone(r.Swept), func(s swept) bool { return s.LagPeak > int64(r.LagBound) })
	if len(within) == 0 {
		return 0, errors.New("no rate of the bucket kept the lag within its bound: see -pace and -lag-bound")
	}
	return slices.MaxFunc(within, func(a, b swept) int { return int(math.Copysign(1, a.ServedRPS-b.ServedRPS)) }).Rate, nil
}

// add adds another measurement of the same arm.
func (o *outcome) add(more outcome) {
	o.writes = append(o.writes, more.writes...)
	o.reads = append(o.reads, more.reads...)
	if o.start.IsZero() {
		o.start = more.start
	}
	// The measurements are put one after the other, without the time between them.
	shift := more.start.Sub(o.start) - o.cycle
	for _, l := range more.lags {
		o.lags = append(o.lags, lagSample{l.At.Add(-shift), l.Lag})
	}
	o.cycle += more.cycle
	o.goroutinesPeak = max(o.goroutinesPeak, more.goroutinesPeak)
	o.heapPeakBytes = max(o.heapPeakBytes, more.heapPeakBytes)
}
