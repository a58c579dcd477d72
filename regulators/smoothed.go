package regulators

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"
)

type smoothed struct {
	of  Signal
	tau time.Duration

	mu struct {
		sync.Mutex
		mean float64
		at   time.Time // zero: no reading yet
	}
}

// Smoothed returns a Signal that reads the moving average of s, in which the
// weight of a reading falls to 1/e (37 %) within tau: after a step the average
// has gone 63 % of the way in one tau and 95 % in three. The time that has passed
// between two polls counts, not their number. tau must be above 0 and has no
// default: one to two seconds calm a noisy reading; as the loop reacts later by
// as much, more makes it swing.
//
// The first reading is taken as it is. An error of s is passed on and leaves the
// average as it was; the reading after it counts for all the time since the last
// good one, so that after a long gap little is left of what was before. A poll
// costs one of s, a reading of the clock and a short lock.
func Smoothed(s Signal, tau time.Duration) (Signal, error) {
	var err error
	if tau <= 0 {
		err = fmt.Errorf("regulators: tau of Smoothed is %v, must be above 0", tau)
	}
	if err := errors.Join(given(s, "Smoothed"), err); err != nil {
		return nil, err
	}
	return &smoothed{of: s, tau: tau}, nil
}

func (s *smoothed) Pressure(ctx context.Context) (float64, error) {
	p, err := s.of.Pressure(ctx) // before the lock: it may block
	if err == nil {
		p, err = checked("the signal of Smoothed", p) // one NaN would stay in the mean for ever
	}
	if err != nil {
		return 0, err
	}
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.at.IsZero() {
		s.mu.mean = p
	} else {
		old := math.Exp(-max(0, now.Sub(s.mu.at).Seconds()) / s.tau.Seconds())
		s.mu.mean = s.mu.mean*old + p*(1-old)
	}
	s.mu.at = now
	return s.mu.mean, nil
}
