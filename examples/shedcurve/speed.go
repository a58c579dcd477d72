package main

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spillway-go/spillway/examples/shedcurve/load"
)

const (
	sliceLength = 500 * time.Millisecond // shorter than the phases in which a shared machine is slow
	mostSlices  = 100                    // of a point; a long one has longer slices

	maxSpeedOff = 0.3 // of a slice's speed, from 1: farther off, and it is left out
	leastKept   = 0.5 // of a point's time: with less of it left, the point is invalid
	maxDrift    = 0.1 // of any slice's speed, from 1, above which the report says so
)

// sliceOf is how long the slices of a point are.
func sliceOf(duration time.Duration) time.Duration { return max(sliceLength, duration/mostSlices) }

// speedometer tells speeds of the machine as multiples of that at which the capacity was measured. Its zero value
// knows none, which stands for a target without a gauge.
type speedometer struct {
	reference   time.Duration // what the gauge's statement took then; zero: no gauge
	least, most float64       // speed of any slice yet; zero: none
}

// keep merges the slices during which the machine was as fast as it should have been. If they are fewer than half,
// the point is not to be trusted (ok is false), and all count: otherwise chance would choose what is shown. It also
// returns the speeds of those that count, in the order of time.
func (s *speedometer) keep(all load.Slices, read readings) (kept load.Result, leftOut float64, speeds []float64, ok bool) {
	whole := all.Merge(nil)
	if s.reference == 0 || len(all) == 0 {
		return whole, 0, nil, true
	}
	var every []float64
	kept = all.Merge(func(one load.Slice) bool {
		v := s.speed(one, read)
		every = append(every, v)
		near := math.Abs(v-1) <= maxSpeedOff
		if near {
			speeds = append(speeds, v)
		}
		return near
	})
	if s.least == 0 {
		s.least = every[0]
	}
	s.least, s.most = min(s.least, slices.Min(every)), max(s.most, slices.Max(every))
	share := kept.Duration.Seconds() / whole.Duration.Seconds()
	if share < leastKept {
		return whole, 0, every, false
	}
	return kept, 1 - share, speeds, true
}

func (s *speedometer) speed(one load.Slice, read readings) float64 {
	took := read.median(one.Start, one.Start.Add(one.Duration))
	return s.reference.Seconds() / took.Seconds()
}

// note says that the machine's speed changed during the run, if it did.
func (s *speedometer) note() string {
	if s.most == 0 || (s.least >= 1-maxDrift && s.most <= 1+maxDrift) {
		return ""
	}
	return fmt.Sprintf("The machine ran at %.0f to %.0f%% of the speed at which the capacity was measured; there the gauge's statement took %v.",
		100*s.least, 100*s.most, s.reference.Round(time.Microsecond))
}

// mean is that of at least one number.
func mean(v []float64) (m float64) {
	for _, one := range v {
		m += one / float64(len(v))
	}
	return m
}
