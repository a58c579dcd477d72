package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"

	"github.com/spillway-go/spillway/examples/docstore/store"
)

const (
	pageSize   = 4 << 10
	applyPages = 8  // entries asked for at once: few, so that the leader hears often how far we are
	checkPages = 24 // keys that a sweep reads at once: a scan reads more in one go than a log's tail does
	idle       = 5 * time.Millisecond
)

// FollowerConfig says what a follower may do. All of it must be set; a SweepFor of zero means no sweeps.
type FollowerConfig struct {
	// Pace is what the disk gives, in pages of 4 KB a second. An entry costs a page, and one more for each further
	// 4 KB of its value.
	Pace float64
	// SweepEvery and SweepFor: at the end of each SweepEvery, for SweepFor, the follower checks all its values
	// against their checksums, as fast as the disk allows. While log and sweep both want the disk each has every second
	// turn, and the sweep's turns are three times as long, so a quarter of the pace is left to the log.
	SweepEvery, SweepFor time.Duration
}

// Validate reports all that is wrong with c at once.
func (c FollowerConfig) Validate() error {
	var errs []error
	if !(c.Pace >= 1 && c.Pace <= 1e6) {
		errs = append(errs, fmt.Errorf("node: pace is %v, must be 1 to 1,000,000", c.Pace))
	}
	if c.SweepFor < 0 || c.SweepFor > 0 && c.SweepFor > c.SweepEvery {
		errs = append(errs, fmt.Errorf("node: a sweep is %v of %v, must be 0 or more and no longer than its period", c.SweepFor, c.SweepEvery))
	}
	return errors.Join(errs...)
}

// Follow applies the log that fetch returns to s until ctx ends, which is no error. Fetch is asked for the n entries
// after the one with that index and may return fewer; it is asked again after an error, for a leader may come back.
func Follow(ctx context.Context, s *store.Store, c FollowerConfig, fetch func(ctx context.Context, applied int64, n int) ([]store.Entry, error)) error {
	if err := c.Validate(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	disk := rate.NewLimiter(rate.Limit(c.Pace), checkPages)
	swept := make(chan struct{})
	go func() {
		defer close(swept)
		if err := sweeps(ctx, s, c, disk); err != nil && ctx.Err() == nil {
			cancel(err)
		}
	}()
	defer func() { cancel(nil); <-swept }()
	for ctx.Err() == nil {
		entries, err := fetch(ctx, s.Last(), applyPages)
		if err != nil || len(entries) == 0 {
			pause(ctx, idle)
			continue
		}
		if err := apply(ctx, s, disk, entries); err != nil && ctx.Err() == nil {
			return err
		}
	}
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func apply(ctx context.Context, s *store.Store, disk *rate.Limiter, entries []store.Entry) error {
	pages := 0
	for _, e := range entries {
		pages += max(1, (len(e.Value)+pageSize-1)/pageSize)
	}
	if err := take(ctx, disk, pages); err != nil {
		return err
	}
	return s.Apply(ctx, entries)
}

// take waits for so many pages' time of the disk.
func take(ctx context.Context, disk *rate.Limiter, pages int) error {
	for pages > 0 {
		n := min(pages, disk.Burst()) // WaitN refuses more
		if err := disk.WaitN(ctx, n); err != nil {
			return err
		}
		pages -= n
	}
	return nil
}

// sweeps checks all values again and again while it is time to.
func sweeps(ctx context.Context, s *store.Store, c FollowerConfig, disk *rate.Limiter) error {
	if c.SweepFor == 0 {
		return nil
	}
	key := ""
	for {
		pause(ctx, c.SweepEvery-c.SweepFor)
		for end := time.Now().Add(c.SweepFor); time.Now().Before(end); {
			if err := take(ctx, disk, checkPages); err != nil {
				return err
			}
			var err error
			if key, err = s.Check(ctx, key, checkPages); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
