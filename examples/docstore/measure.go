package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spillway-go/spillway/examples/docstore/store"
	"github.com/spillway-go/spillway/examples/internal/process"
	"github.com/spillway-go/spillway/examples/shedcurve/load"
)

// Files of a pair's data, in one folder.
const (
	leaderFile   = "leader.db"
	followerFile = "follower.db"
)

// pair is a leader with its follower.
type pair struct {
	leader, follower *process.Child
	at               leaderHello
	dir              string
}

// startPair starts a new, empty pair, the leader behind arm.
func startPair(ctx context.Context, o options, arm string, bucketRate float64) (p *pair, err error) {
	p = &pair{}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.stop())
		}
	}()
	if p.dir, err = os.MkdirTemp("", "docstore-"); err != nil {
		return p, err
	}
	if err = seed(ctx, p.dir); err != nil {
		return p, err
	}
	p.leader, err = process.Start(ctx, "the leader", &p.at, "leader", "-dir", p.dir, "-arm", arm,
		"-bucket", strconv.FormatFloat(bucketRate, 'g', -1, 64), "-lag-bound", strconv.Itoa(o.lagBound))
	if err != nil {
		return p, err
	}
	sweepFor := time.Duration(0)
	if o.sweep {
		sweepFor = o.cycle / 2
	}
	var hello struct{}
	p.follower, err = process.Start(ctx, "the follower", &hello, "follower", "-dir", p.dir, "-leader", "http://"+p.at.Admin,
		"-pace", strconv.FormatFloat(o.pace, 'g', -1, 64), "-sweep-every", o.cycle.String(), "-sweep-for", sweepFor.String())
	return p, err
}

// seed makes the data that both begin with, so that every read finds something.
func seed(ctx context.Context, dir string) (err error) {
	s, err := store.Open(ctx, filepath.Join(dir, leaderFile))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	entries := make([]store.Entry, keys)
	for i := range entries {
		entries[i] = store.Entry{Key: keyName(i), Value: bytes.Repeat([]byte("v"), valueSize)}
	}
	if err := s.Append(ctx, entries); err != nil {
		return err
	}
	if err := s.Trim(ctx, s.Last()); err != nil {
		return err
	}
	return s.CopyTo(ctx, filepath.Join(dir, followerFile))
}

func (p *pair) stop() error {
	var errs []error
	for _, c := range []*process.Child{p.follower, p.leader} {
		if c != nil {
			errs = append(errs, c.Stop())
		}
	}
	return errors.Join(append(errs, os.RemoveAll(p.dir))...)
}

// dead says which of the two has ended, nil while both live.
func (p *pair) dead() error { return errors.Join(p.leader.Dead(), p.follower.Dead()) }

func (p *pair) state(ctx context.Context) (s leaderState, err error) {
	err = process.Ask(ctx, "the leader", http.MethodGet, "http://"+p.at.Admin+"/state", &s)
	return s, err
}

// outcome is what one or more measurements of an arm came to.
type outcome struct {
	writes, reads  load.Slices
	lags           []lagSample // of the time that counts
	start          time.Time   // of that time
	cycle          time.Duration
	goroutinesPeak int // of the leader, from its start on
	heapPeakBytes  int64
}

// measure offers o's load to a new pair for the duration of one cycle, after a warm-up.
func measure(ctx context.Context, o options, arm string, bucketRate float64) (out outcome, err error) {
	p, err := startPair(ctx, o, arm, bucketRate)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	if out.writes, out.reads, err = offer(ctx, o, p.at.Addr); err != nil {
		return out, errors.Join(err, p.dead())
	}
	state, err := p.state(ctx)
	if err != nil {
		return out, errors.Join(err, p.dead())
	}
	out.start, out.cycle = out.writes[0].Start, o.cycle
	out.goroutinesPeak, out.heapPeakBytes = state.GoroutinesPeak, state.HeapPeakBytes
	for _, l := range state.Lags {
		if !l.At.Before(out.start) && l.At.Before(out.start.Add(o.cycle)) {
			out.lags = append(out.lags, l)
		}
	}
	return out, p.dead()
}

// offer offers writes and reads at the same time.
func offer(ctx context.Context, o options, addr string) (writes, reads load.Slices, err error) {
	var g errgroup.Group
	for i, c := range []struct {
		method string
		rate   float64
		result *load.Slices
	}{{http.MethodPut, o.rate, &writes}, {http.MethodGet, o.reads, &reads}} {
		mix, err := requests(c.method, o.hot, o.bulk)
		if err != nil {
			return nil, nil, err
		}
		client, err := load.NewClient("http://" + addr)
		if err != nil {
			return nil, nil, err
		}
		defer client.Close()
		g.Go(func() (err error) {
			*c.result, err = load.Run(ctx, client, load.Config{
				Mix: mix, Rate: c.rate, WarmUp: o.warmUp, Duration: o.cycle, Deadline: o.deadline, Seed: o.seed + uint64(i),
			})
			return err
		})
	}
	return writes, reads, g.Wait()
}
