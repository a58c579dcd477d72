package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spillway-go/spillway/examples/shedcurve/report"
)

// watch runs a pair under load until ctx ends, and prints a line every second.
func watch(ctx context.Context, o options, stdout io.Writer) (err error) {
	p, err := startPair(ctx, o, o.arm, o.bucket)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	fmt.Fprintf(stdout, "leader on http://%s/kv/{key} behind %s, %.0f writes/s and %.0f reads/s; Ctrl-C ends it\n", p.at.Addr, o.arm, o.rate, o.reads)
	o.warmUp = 0
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return p.report(ctx, stdout) })
	g.Go(func() error {
		for ctx.Err() == nil {
			writes, reads, err := offer(ctx, o, p.at.Addr)
			if err != nil {
				return err
			}
			w, r := writes.Merge(nil), reads.Merge(nil)
			line := fmt.Sprintf("%.0f writes/s and %.0f reads/s served, p99 of writes %.0f ms; writes shed:", perSecond(w), perSecond(r), ms(w.Admitted.Quantile(0.99)))
			for _, t := range tiers {
				line += " " + t.name + " " + shed(report.Tally(w.Tiers[t.name]))
			}
			fmt.Fprintln(stdout, line) // at once: report prints too
			o.seed += 2
		}
		return nil
	})
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return errors.Join(err, p.dead())
	}
	return nil
}

// report prints the leader's state every second until ctx ends.
func (p *pair) report(ctx context.Context, stdout io.Writer) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		s, err := p.state(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(stdout, "lag %4d, writes shed by the gate %3.0f %%, goroutines %4d\n", s.Lag, 100*s.ShedRatio, s.Goroutines)
	}
}
