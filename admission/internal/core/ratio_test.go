package core

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/race"
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

// overload runs 20 s of load x on 50 slots, each of which serves a request in the
// mean time that is given, and returns the ratio from 5 s on, and the time by
// which it had settled.
func overload(s *sim, x float64, service time.Duration) (ratio series, settled time.Duration) {
	var all series
	s.tick = func() { all = append(all, s.lane.ShedRatio()) }
	s.service = func() time.Duration { return s.exp(service) }
	s.run(20*time.Second, x*50/service.Seconds())
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

// The checks that the laws were chosen by: 50 slots, 500 requests/s and 4,000,
// exponential. ff lets through 1.2 of capacity, 1.5 while nobody waits, and so
// many more wait in vain; pid lets through what it can and is not quite calm at
// the edge: there a share of a quarter second is not settled by 0.1.
func TestRatioStatic(t *testing.T) {
	for _, law := range []struct {
		name                string
		lets                float64 // through at most, of capacity
		over                float64 // sheds at most, beyond what is too much
		edge                float64 // highest mean at 0.9x
		busy, died, settles float64
	}{
		{"ff", 1.5, 0.01, 0, 0.99, 0.18, 1.2},
		{"pid", 1.04, 0.025, 0.02, 0.96, 0.05, 2},
	} {
		for _, service := range []time.Duration{100 * ms, 12500 * time.Microsecond} {
			for _, at := range []struct{ x, sd float64 }{{0.9, 0.025}, {1.2, 0.06}, {2, 0.04}, {3, 0.04}, {5, 0.015}, {10, 0.015}} {
				if service < 100*ms && (at.x > 3 || race.Enabled) {
					continue // 40,000 a second take their time, and one goroutine has nothing to detect
				}
				cfg := pinned(50)
				cfg.Gate.Law = law.name
				s := newSim(t, cfg, 1)
				ratio, settled := overload(s, at.x, service)
				mean, sd := ratio.mean(), ratio.sd()
				busy := s.lane.tick.area / (50 * s.now.Seconds())
				died := float64(s.died) / float64(s.offered)
				name := fmt.Sprintf("%s, %v, %.1fx", law.name, service, at.x)
				t.Logf("%s: ratio %.3f, sd %.4f, settled %v, utilisation %.3f, died %.3f", name, mean, sd, settled, busy, died)
				most := law.edge
				if at.x > 1 {
					most = 1 - 1/at.x + law.over
				}
				if least := max(0, 1-law.lets/at.x); mean < least-0.02 || mean > most {
					t.Errorf("%s: mean ratio is %.3f, want %.3f to %.3f", name, mean, least, most)
				}
				if sd > at.sd {
					t.Errorf("%s: sd of the ratio is %.4f, want at most %v", name, sd, at.sd)
				}
				if at.x >= 2 && settled.Seconds() > law.settles {
					t.Errorf("%s: settled after %v, want at most %v s", name, settled, law.settles)
				}
				if want := min(at.x, 1) * law.busy; busy < want-0.01 {
					t.Errorf("%s: utilisation is %.3f, want %.2f", name, busy, want)
				}
				if died > law.died {
					t.Errorf("%s: %.3f waited in vain, want at most %v", name, died, law.died)
				}
			}
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
		ratio, _ := overload(s, x, 100*ms)
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
