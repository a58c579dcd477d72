package sim

import (
	"slices"
	"testing"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/internal/race"
)

// Long runs and ways to fail: what a law does over minutes, from a cold start,
// through a stall. good is answers within the deadline over requests, in the
// mean of the runs; limits are those of the last.
func TestLongRuns(t *testing.T) {
	if race.Enabled {
		return
	}
	exp := func(ms float64) Dist { return Dist{Kind: "exp", MeanMS: ms} }
	for _, c := range []struct {
		name      string
		s         Scenario
		good      float64 // at least
		mean      [2]float64
		limits    [2]int // until second idle, or throughout
		idle      float64
		recovered [2]float64 // above 20 at some second between
	}{
		{
			name: "cold start of a large slow pool at 3x", good: 0.30,
			s: Scenario{
				DurationS: 60, CapacityRPS: 2000, Backend: []Station{{Servers: 400, Dist: exp(200)}},
				Load: Arrivals{Points: []Point{{0, 3}}}, Client: Client{DeadlineMS: 1394},
			},
		},
		{
			name: "cold start of a small pool at 3x", good: 0.32,
			s: Scenario{
				DurationS: 60, CapacityRPS: 800, Backend: []Station{{Servers: 8, Dist: Dist{Kind: "det", MeanMS: 10}}},
				Load: Arrivals{Points: []Point{{0, 3}}}, Client: Client{DeadlineMS: 100},
			},
		},
		{
			name: "four times slower for ever", good: 0.95,
			s: Scenario{
				DurationS: 120, CapacityRPS: 1000,
				Backend: []Station{
					{Dist: Dist{Kind: "lognormal", MeanMS: 100, Sigma: 0.3}, Speed: []Point{{0, 1}, {30, 1}, {30, 0.25}}},
					{Servers: 10, Dist: exp(10)},
				},
				Load: Arrivals{Points: []Point{{0, 0.6}}}, Client: Client{DeadlineMS: 1058},
			},
		},
		{
			name: "slots freed at time-outs, at 2x", good: 0.45,
			s: Scenario{
				DurationS: 120, CapacityRPS: 500, Backend: []Station{{Servers: 50, Dist: exp(100)}},
				Load: Arrivals{Points: []Point{{0, 2}}}, Client: Client{DeadlineMS: 697, CancelReleasesSlot: true},
			},
		},
		{
			name: "ten minutes of contention at 2x", good: 0.45, mean: [2]float64{16, 34}, limits: [2]int{4, 46},
			s: Scenario{
				DurationS: 600, CapacityRPS: 1600, Backend: []Station{{Cores: 16, Knee: 32, Beta: 0.02, Dist: exp(10)}},
				Load: Arrivals{Points: []Point{{0, 2}}}, Client: Client{DeadlineMS: 69.72},
			},
		},
		{
			// Nothing drifts; a probe may halve eight slots for a moment.
			name: "five idle minutes, then 3x", good: 0.36, limits: [2]int{4, 20}, idle: 300,
			s: Scenario{
				DurationS: 360, CapacityRPS: 500, Backend: []Station{{Servers: 50, Dist: exp(100)}},
				Load: Arrivals{Points: []Point{{0, 0.05}, {300, 0.05}, {300, 3}}}, Client: Client{DeadlineMS: 697},
			},
		},
		{
			name: "a stall of 20 s", good: 0.7, recovered: [2]float64{60, 80},
			s: Scenario{
				DurationS: 120, CapacityRPS: 500,
				Backend: []Station{{Servers: 50, Dist: exp(100), Speed: []Point{{0, 1}, {40, 1}, {40, 0}, {60, 0}, {60, 1}}}},
				Load:    Arrivals{Points: []Point{{0, 0.9}}}, Client: Client{DeadlineMS: 697},
			},
		},
	} {
		runs := 4 // a cold start is a matter of luck
		if c.s.DurationS > 120 {
			runs = 1
		}
		good, r := 0.0, Report{}
		for k := range runs {
			var err error
			c.s.Seed = 1
			if r, err = Lab.Run(admission.Config{}, c.s.Seeded(k)); err != nil {
				t.Fatal(err)
			}
			good += float64(r.Good) / float64(r.Requests) / float64(runs)
		}
		watched := r.Trace.Limit
		if c.idle > 0 {
			watched = part(watched, 0, c.idle)
		}
		least, most := slices.Min(watched), slices.Max(watched)
		t.Logf("%s: good %.3f, limit %d..%d, mean %.1f", c.name, good, least, most, r.MeanLimit)
		if good < c.good {
			t.Errorf("%s: %.3f are good, want %.2f", c.name, good, c.good)
		}
		if c.mean[1] > 0 && (r.MeanLimit < c.mean[0] || r.MeanLimit > c.mean[1]) {
			t.Errorf("%s: mean limit %.1f, want %v", c.name, r.MeanLimit, c.mean)
		}
		if c.limits[1] > 0 && (least < c.limits[0] || most > c.limits[1]) {
			t.Errorf("%s: limit %d to %d, want %v", c.name, least, most, c.limits)
		}
		if c.recovered[1] > 0 && slices.Max(part(r.Trace.Limit, c.recovered[0], c.recovered[1])) <= 20 {
			t.Errorf("%s: the limit is not above 20 between seconds %v", c.name, c.recovered)
		}
	}
}
