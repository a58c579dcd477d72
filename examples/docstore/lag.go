package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/spillway-go/spillway/regulators"
)

const (
	// lookAhead is how far ahead of its time the lag is judged. The lag is the sum of what the follower could not apply:
	// it goes on rising as long as too much is let in, however much less that is than before. A loop that looks at the
	// lag alone notices only when it has passed the bound that it had been shedding too little, and then sheds for too
	// long. The growth tells at once.
	lookAhead = time.Second
	// lagTarget is the share of the bound at which the lag is held.
	lagTarget = 0.3
	// growthOver is the time over which growth is measured: the follower's progress comes in steps of its batches.
	growthOver = 200 * time.Millisecond
)

// lagSignal is the pressure of the follower's lag, which is 1 when the lag will in lookAhead, at its present growth, be
// lagTarget of its bound: the rest is for the time that a loop takes to notice that a sweep has begun. A lag of the whole
// bound more is a pressure of 1 more. That scale is the loop's gain: were no lag no pressure, it would be three times as
// high, and with the quarter of a second that passes until a decision shows in the growth the ratio would swing.
//
// It is safe for concurrent use.
type lagSignal struct {
	lag   func() (entries int64, ok bool)
	bound float64 // entries

	mu   sync.Mutex
	seen []lagSample // within growthOver, and the last one before that
}

type lagSample struct {
	At  time.Time `json:"at"`
	Lag int64     `json:"lag"`
}

// Pressure makes lagSignal a regulators.Signal.
func (s *lagSignal) Pressure(context.Context) (float64, error) {
	lag, ok := s.lag()
	if !ok {
		return 0, fmt.Errorf("%w: the follower has not been heard of", regulators.ErrNoReading)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pressure(lagSample{time.Now(), lag}), nil
}

func (s *lagSignal) pressure(now lagSample) float64 {
	s.seen = append(s.seen, now)
	for len(s.seen) > 2 && now.At.Sub(s.seen[1].At) >= growthOver {
		s.seen = s.seen[1:]
	}
	growth := 0.0
	if dt := now.At.Sub(s.seen[0].At).Seconds(); dt > 0 {
		growth = float64(now.Lag-s.seen[0].Lag) / dt
	}
	return max(0, 1-lagTarget+(float64(now.Lag)+lookAhead.Seconds()*growth)/s.bound)
}
