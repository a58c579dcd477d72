package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// ErrDead is returned when nobody listens at the target any more.
var ErrDead = errors.New("load: the target refuses connections")

const (
	// maxOutstanding bounds what a stuck target costs the generator. It is far above what a deadline of
	// a second lets pile up; what exceeds it has failed, "not sent".
	maxOutstanding = 20_000

	// deadAfter refused connections without an answer in between the target counts as dead: more than a
	// restart in the middle could explain by chance, and a blink at any rate.
	deadAfter = 20
)

// Config says what load to offer.
type Config struct {
	Mix      *Mix
	Rate     float64       // requests/s offered, on average
	WarmUp   time.Duration // load that is offered first and not counted
	Duration time.Duration // load that is counted
	Slice    time.Duration // parts of Duration that are counted apart, at most 200; zero: one part
	Deadline time.Duration // how long a client waits, from when its request was due
	Seed     uint64        // of the arrivals and of what is requested
}

// Validate reports all that is wrong with c at once.
func (c Config) Validate() error {
	var errs []error
	if c.Mix == nil {
		errs = append(errs, errors.New("load: mix: nil, must be one of NewMix"))
	}
	if !(c.Rate > 0) || math.IsInf(c.Rate, 0) {
		errs = append(errs, fmt.Errorf("load: rate is %v, must be positive and finite", c.Rate))
	}
	if c.WarmUp < 0 {
		errs = append(errs, fmt.Errorf("load: warm-up is %v, must not be negative", c.WarmUp))
	}
	if c.Duration <= 0 {
		errs = append(errs, fmt.Errorf("load: duration is %v, must be positive", c.Duration))
	}
	if c.Slice < 0 || c.Slice > 0 && c.Duration/c.Slice >= maxSlices {
		errs = append(errs, fmt.Errorf("load: slice is %v, must be zero or more than 1/%d of the duration", c.Slice, maxSlices))
	}
	if c.Deadline <= 0 {
		errs = append(errs, fmt.Errorf("load: deadline is %v, must be positive", c.Deadline))
	}
	return errors.Join(errs...)
}

// Run offers load in an open loop for cfg.WarmUp and cfg.Duration and returns when the last request has been
// answered or given up. What was due in the warm-up is sent but not counted; a slice counts what was due in it,
// whenever it was answered. When ctx ends or the target dies
// (ErrDead) it stops early, with an error and the results of what had been answered by then.
func Run(ctx context.Context, c *Client, cfg Config) (Slices, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var (
		line        = newTimeline(cfg)
		outstanding atomic.Int64
		refused     atomic.Int64 // in a row
		sent        int64
		wg          sync.WaitGroup
	)
	// Another stream of numbers than the arrivals', which so do not depend on how much chance a request takes to make.
	arrivals := newArrivals(cfg)
	requests := rand.New(rand.NewPCG(cfg.Seed, 2))

	start := time.Now()
	end := cfg.WarmUp + cfg.Duration
	at, more := arrivals.next()
	for ; more; at, more = arrivals.next() {
		class, req := cfg.Mix.draw(requests)
		if !sleepUntil(ctx, start.Add(at)) {
			break
		}
		t := line.tally(at)
		due := start.Add(at)
		if outstanding.Load() >= maxOutstanding {
			t.add(class.Tier, req.Tenant, -1, 0, answer{err: errNotSent, retryAfter: -1})
			continue
		}
		outstanding.Add(1)
		sent++
		wg.Go(func() {
			defer outstanding.Add(-1)
			sendCtx, cancel := context.WithDeadline(ctx, due.Add(cfg.Deadline))
			defer cancel()
			lag := time.Since(due)
			a := c.send(sendCtx, req)
			if a.err != nil && ctx.Err() != nil {
				return // the run was stopped: nobody knows what would have become of it
			}
			t.add(class.Tier, req.Tenant, lag, time.Since(due), a)
			if !a.dead() {
				refused.Store(0)
			} else if refused.Add(1) >= deadAfter {
				stop(ErrDead)
			}
		})
	}
	wg.Wait()
	if !more {
		at = end
	}
	res := line.slices(start, at)
	if ctx.Err() != nil {
		return res, context.Cause(ctx)
	}
	if sent > 0 && refused.Load() == sent { // a run too short for deadAfter
		return res, ErrDead
	}
	return res, nil
}

// sleepUntil waits for t, or not at all when it has passed, and tells whether ctx is still on. A timer per
// request would be garbage by the thousand; ctx is looked at between naps that are short enough for a
// person who presses Ctrl-C.
func sleepUntil(ctx context.Context, t time.Time) bool {
	const nap = 100 * time.Millisecond
	for {
		if ctx.Err() != nil {
			return false
		}
		d := time.Until(t)
		if d <= 0 {
			return true
		}
		time.Sleep(min(d, nap))
	}
}
