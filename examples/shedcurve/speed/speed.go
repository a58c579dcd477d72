package speed

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

// SliceOf is how long the slices of a load are that is counted for so long.
func SliceOf(duration time.Duration) time.Duration { return max(sliceLength, duration/mostSlices) }

// Speedometer tells speeds of the machine as multiples of that at which the capacity was measured. Its zero value
// knows none, which stands for a target without a gauge. It is not safe for concurrent use.
type Speedometer struct {
	Reference   time.Duration // what the gauge's statement took then; zero: no gauge
	least, most float64       // speed of any slice yet; zero: none
}

// Kept is what counts of a load.
type Kept struct {
	load.Result
	Slices  load.Slices // that count
	LeftOut float64     // share of the load's time that does not
	Speeds  []float64   // of those that count, in the order of time; nil: no gauge
	Steady  bool        // the machine was as fast as it should have been for half of the time or more
}

// Speed is the mean of those that count, or 1 where there is no gauge.
func (k Kept) Speed() float64 {
	if len(k.Speeds) == 0 {
		return 1
	}
	m := 0.0
	for _, v := range k.Speeds {
		m += v / float64(len(k.Speeds))
	}
	return m
}

// Keep merges the slices during which the machine was as fast as it should have been. If they are fewer than half,
// the load's result is not to be trusted, and all count: otherwise chance would choose what is shown.
func (s *Speedometer) Keep(all load.Slices, read Readings) Kept {
	whole := Kept{Result: all.Merge(nil), Slices: all, Steady: true}
	if s.Reference == 0 || len(all) == 0 {
		return whole
	}
	kept := Kept{Steady: true}
	for _, one := range all {
		v := s.Speed(one, read)
		whole.Speeds = append(whole.Speeds, v)
		if math.Abs(v-1) <= maxSpeedOff {
			kept.Slices, kept.Speeds = append(kept.Slices, one), append(kept.Speeds, v)
		}
	}
	kept.Result = kept.Slices.Merge(nil)
	if s.least == 0 {
		s.least = whole.Speeds[0]
	}
	s.least, s.most = min(s.least, slices.Min(whole.Speeds)), max(s.most, slices.Max(whole.Speeds))
	share := kept.Duration.Seconds() / whole.Duration.Seconds()
	if share < leastKept {
		whole.Steady = false
		return whole
	}
	kept.LeftOut = 1 - share
	return kept
}

// Speed is that of one slice.
func (s *Speedometer) Speed(one load.Slice, read Readings) float64 {
	return s.Of(one.Start, one.Start.Add(one.Duration), read)
}

// Of is the speed from one time to another.
func (s *Speedometer) Of(from, to time.Time, read Readings) float64 {
	return s.Reference.Seconds() / read.Median(from, to).Seconds()
}

// Note says that the machine's speed changed during the run, if it did.
func (s *Speedometer) Note() string {
	if s.most == 0 || (s.least >= 1-maxDrift && s.most <= 1+maxDrift) {
		return ""
	}
	return fmt.Sprintf("The machine ran at %.0f to %.0f%% of the speed at which the capacity was measured; there the gauge's statement took %v.",
		100*s.least, 100*s.most, s.Reference.Round(time.Microsecond))
}
