package regulators

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

type rise struct {
	of  Signal
	per time.Duration

	mu struct {
		sync.Mutex
		last float64
		at   time.Time // zero: no reading yet
	}
}

// Rise returns a Signal that reads how much s has risen since the poll before,
// per per: the rate of a counter, or how fast a backlog grows. It reads 0 while s
// falls, as a counter does when its source starts again. per must be above 0 and has
// no default. With s the bytes written and per a second, the reading is bytes per
// second; put [Scaled] around it to say how many the disk should bear.
//
// The first poll, and one in the same instant as the one before, has no reading
// ([ErrNoReading]). An error of s is passed on; the reading after it is the mean
// rate since the last good one. Differences are noisy: [Smoothed] belongs around
// one of a gauge. A poll costs one of s, a reading of the clock and a short
// lock. All who poll one Rise share its periods: give each poller its own.
func Rise(s Signal, per time.Duration) (Signal, error) {
	var err error
	if per <= 0 {
		err = fmt.Errorf("regulators: per of Rise is %v, must be above 0", per)
	}
	if err := errors.Join(given(s, "Rise"), err); err != nil {
		return nil, err
	}
	return &rise{of: s, per: per}, nil
}

func (r *rise) Pressure(ctx context.Context) (float64, error) {
	p, err := r.of.Pressure(ctx) // before the lock: it may block
	if err == nil {
		p, err = checked("the signal of Rise", p)
	}
	if err != nil {
		return 0, err
	}
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	last, at := r.mu.last, r.mu.at
	if !at.IsZero() && !now.After(at) {
		return 0, fmt.Errorf("%w: no time has passed since the last poll of Rise", ErrNoReading)
	}
	r.mu.last, r.mu.at = p, now
	if at.IsZero() {
		return 0, fmt.Errorf("%w: Rise needs a period between two polls", ErrNoReading)
	}
	return checked("Rise", max(0, p-last)*(r.per.Seconds()/now.Sub(at).Seconds()))
}
