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
	// lagTarget is the share of the bound at which the lag is held: the rest is for the time that a loop takes to notice
	// that a sweep has begun.
	lagTarget = 0.25
	// growthOver is the time over which growth is measured: the follower's progress comes in steps of its batches.
	growthOver = 200 * time.Millisecond
)

// lagSignal is the pressure of the follower's lag: how long the lag will in lookAhead be, at its present growth, over
// lagTarget of its bound; above that a lag of the whole bound more is a pressure of 1 more.
//
// The bend at 1 is there because the two sides are not alike. Above, what must be shed is known by how much the lag grows,
// and a steeper line would only make the ratio swing with the quarter of a second that passes until a decision shows in
// the growth. Below there is no lag, and nothing tells how much more the follower could take: the ratio must come down
// until one shows. Were that line as flat as the other, no lag would be a pressure of 0.75, and after each sweep it took
// four seconds to let in again what the follower can do, a quarter of all that was served.
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
	ahead := (float64(now.Lag) + lookAhead.Seconds()*growth) / s.bound
	if ahead < lagTarget {
		return max(0, ahead/lagTarget)
	}
	return 1 + ahead - lagTarget
}
