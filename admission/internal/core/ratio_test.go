package core

import (
	"math"
	"testing"
	"time"
)

// series is the shed ratio over a run, as of every tick.
type series []float64

func (s series) mean() float64 {
	sum := 0.0
	for _, r := range s {
		sum += r
	}
	return sum / float64(len(s))
}

func (s series) sd() float64 {
	m, sum := s.mean(), 0.0
	for _, r := range s {
		sum += (r - m) * (r - m)
	}
	return math.Sqrt(sum / float64(len(s)))
}

// overload runs 20 s of load x on 50 slots of 100 ms, 500 requests/s, and
// returns the ratio from 5 s on, and the time by which it had settled.
func overload(s *sim, x float64) (ratio series, settled time.Duration) {
	var all series
	s.tick = func() { all = append(all, s.lane.ShedRatio()) }
	s.run(20*time.Second, 500*x)
	from := int(5 * time.Second / TickPeriod)
	ratio = all[from:]
	// Settled: the mean over a quarter of a second stays near the final one.
	const quarter = int(250 * ms / TickPeriod)
	for i := 0; i+quarter <= len(all); i++ {
		if math.Abs(all[i:i+quarter].mean()-ratio.mean()) > 0.1 {
			settled = time.Duration(i+quarter) * TickPeriod
		}
	}
	return ratio, settled
}

// The checks that the law was chosen by: 50 slots of 100 ms, exponential.
func TestRatioStatic(t *testing.T) {
	for _, tc := range []struct {
		x, sd float64
	}{{0.9, 0}, {1.2, 0.06}, {2, 0.04}, {3, 0.04}, {5, 0.015}, {10, 0.015}} {
		s := newSim(t, pinned(50), 1)
		ratio, settled := overload(s, tc.x)
		// The law lets through 1.2 of capacity, 1.5 while nobody waits.
		least, most := max(0, 1-1.5/tc.x), max(0, 1-1/tc.x)
		mean, sd := ratio.mean(), ratio.sd()
		busy := s.lane.tick.area / (50 * s.now.Seconds())
		t.Logf("%.1fx: ratio %.3f, sd %.4f, settled %v, utilisation %.3f, gated %d of %d, died %d",
			tc.x, mean, sd, settled, busy, s.gated, s.offered, s.died)
		if mean < least-0.02 || mean > most+0.01 {
			t.Errorf("%.1fx: mean ratio is %.3f, want %.3f to %.3f", tc.x, mean, least, most)
		}
		if sd > tc.sd {
			t.Errorf("%.1fx: sd of the ratio is %.4f, want at most %v", tc.x, sd, tc.sd)
		}
		if settled > 2*time.Second {
			t.Errorf("%.1fx: settled after %v, want at most 2s", tc.x, settled)
		}
		if want := min(tc.x, 1) * 0.96; busy < want {
			t.Errorf("%.1fx: utilisation is %.3f, want %.2f", tc.x, busy, want)
		}
	}
}

// All traffic has one rank, and what is shed comes back with the same hash:
// were hashes taken as uniform, those shed would pile up below the cut.
func TestRatioOneRankWithRetries(t *testing.T) {
	for _, x := range []float64{2, 3, 5} {
		s := newSim(t, pinned(50), 2)
		s.rank = func() int { return 1*NumCohorts + 64 }
		s.retries = 3
		ratio, _ := overload(s, x)
		load := float64(s.offered) / s.now.Seconds() / 500
		want, shed := 1-1/load, float64(s.gated)/float64(s.offered)
		t.Logf("%.1fx, with retries %.1fx: ratio %.3f, sd %.3f, shed %.3f, good %.2f", x, load, ratio.mean(), ratio.sd(), shed, float64(s.good)/500/s.now.Seconds())
		if math.Abs(ratio.mean()-want) > 0.1 || math.Abs(shed-want) > 0.1 {
			t.Errorf("%.1fx: ratio is %.3f and %.3f were shed, want within 0.1 of %.3f", load, ratio.mean(), shed, want)
		}
		if sd := ratio.sd(); sd > 0.05 {
			t.Errorf("%.1fx: sd of the ratio is %.3f, want at most 0.05", load, sd)
		}
		if good := float64(s.good) / 500 / s.now.Seconds(); good < 0.95 {
			t.Errorf("%.1fx: goodput is %.2f of capacity", load, good)
		}
	}
}
