package sim

import (
	"testing"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/internal/race"
)

// A back end of one core does most with one request at a time, and with any more a little
// less, as a database on one core does. The limit has to find that by itself, and to stay
// there: between one slot and two it is at the one that serves more. Against one slot
// from the beginning the mean of some runs is compared, once the start is over.
func TestOneCore(t *testing.T) {
	if race.Enabled {
		return
	}
	const (
		runs  = 6
		least = 0.98
	)
	for _, c := range []struct{ beta, load float64 }{{0.15, 1}, {0.15, 3}, {0.15, 10}, {0.05, 1}, {0.05, 3}, {0.05, 10}} {
		s := Scenario{
			DurationS: 40, MeasureFromS: 10, CapacityRPS: 300, Seed: 1,
			Backend: []Station{{Cores: 1, Knee: 1, Beta: c.beta, Dist: Dist{Kind: "lognormal", Sigma: 0.5, MeanMS: 1000. / 300}}},
			Load:    Arrivals{Points: []Point{{0, c.load}}}, Client: Client{DeadlineMS: 250},
			TierMix: []float64{0, 0.35, 0.45, 0, 0, 0.2},
		}
		one := admission.Config{Lanes: map[string]admission.LaneConfig{defaultLane: {Limit: admission.LimitConfig{Fixed: 1}}}}
		good, best := 0.0, 0.0
		for k := range runs {
			r, err := Run(admission.Config{}, s.Seeded(k))
			if err != nil {
				t.Fatal(err)
			}
			o, err := Run(one, s.Seeded(k))
			if err != nil {
				t.Fatal(err)
			}
			good, best = good+r.Goodput, best+o.Goodput
		}
		t.Logf("beta %v at %vx: %.3f of one slot's goodput", c.beta, c.load, good/best)
		if good < least*best {
			t.Errorf("beta %v at %vx: %.3f of what one slot serves, want %v", c.beta, c.load, good/best, least)
		}
	}
}
