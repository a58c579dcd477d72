package sim

import (
	"math"
	"testing"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/internal/race"
)

// forecast compares what a lane in shadow says it would shed of a load of x with what it
// sheds of the same requests when it enforces. It returns shadow over enforced, and by
// how much the worst tier is off, as a share of all that is shed.
func forecast(t *testing.T, cfg admission.Config, s Scenario, x float64) (all, tier, gate float64) {
	t.Helper()
	s.Load.Points = []Point{{0, x}}
	sheds := func(m admission.Mode) (all, gate float64, tiers [admission.NumTiers]float64) {
		cfg.Mode = m
		r, err := Run(cfg, s)
		if err != nil {
			t.Fatal(err)
		}
		gate = float64(r.Shed[admission.ReasonPriority] + r.Shadow[admission.ReasonPriority])
		for i, tier := range r.Tiers {
			for why := range tier.Shed {
				if m == admission.Shadow && tier.Shed[why] > 0 {
					t.Errorf("%d shed in shadow: %v", tier.Shed[why], admission.Reason(why))
				}
				tiers[i] += float64(tier.Shed[why] + tier.Shadow[why])
			}
			all += tiers[i]
		}
		t.Logf("load %g, %v: %.0f of %d, %.0f of them by the gate, by tier %.0f, mean limit %.1f", x, m, all, r.Attempts, gate, tiers, r.MeanLimit)
		return all, gate, tiers
	}
	enforced, gate1, of := sheds(admission.Enforce)
	shadow, gate2, would := sheds(admission.Shadow)
	for i := range of {
		tier = max(tier, math.Abs(would[i]-of[i])/enforced)
	}
	return shadow / enforced, tier, math.Abs(gate2-gate1) / enforced
}

// backEnd is a scenario in front of one station.
func backEnd(s Station) Scenario {
	s.Dist = Dist{Kind: "lognormal", Sigma: 0.5, MeanMS: 10}
	return Scenario{
		Name: "forecast", DurationS: 40, MeasureFromS: 2, CapacityRPS: 800, Seed: 5,
		Backend: []Station{s}, Client: Client{DeadlineMS: 100}, TierMix: []float64{0.02, 0.28, 0.25, 0.2, 0.15, 0.1},
	}
}

// In front of workers who serve one request after the other what a lane in shadow
// would shed is what it sheds when it enforces, on the same requests: in all, by tier,
// and by gate and queue.
func TestShadowForecast(t *testing.T) {
	pinned := admission.Config{Lanes: map[string]admission.LaneConfig{"default": {Limit: admission.LimitConfig{Fixed: 8}}}}
	for name, cfg := range map[string]admission.Config{"own limit": {}, "pinned": pinned} {
		t.Run(name, func(t *testing.T) {
			loads := []float64{1.2, 1.5, 3, 5}
			if race.Enabled { // in one goroutine there is nothing to detect
				loads = []float64{1.5}
			}
			for _, x := range loads {
				all, tier, gate := forecast(t, cfg, backEnd(Station{Servers: 8}), x)
				t.Logf("load %g: %.3f of what is shed, the worst tier off by %.3f, the gate by %.3f", x, all, tier, gate)
				if math.Abs(all-1) > 0.12 || tier > 0.05 || gate > 0.08 {
					t.Errorf("load %g: forecast %.3f of what is shed, the worst tier off by %.3f, the gate by %.3f", x, all, tier, gate)
				}
			}
		})
	}
}

// Where it is no forecast. A back end that shares itself among all it was given gets less
// done in overload; so does one whose callers all leave before it is done: too much.
// One that bears more than a pinned limit lets through: too little.
func TestShadowIsNoForecast(t *testing.T) {
	left := backEnd(Station{Servers: 8})
	left.Client.CancelReleasesSlot = true
	pinned := admission.Config{Lanes: map[string]admission.LaneConfig{"default": {Limit: admission.LimitConfig{Fixed: 8}}}}
	for _, tc := range []struct {
		name        string
		cfg         admission.Config
		s           Scenario
		least, most float64
	}{
		{"shared", admission.Config{}, backEnd(Station{Cores: 8}), 1.1, 1.5},
		{"left behind", admission.Config{}, left, 1.3, 1.5},
		{"bears it", pinned, backEnd(Station{}), 0, 0.1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			all, _, _ := forecast(t, tc.cfg, tc.s, 3)
			if all < tc.least || all > tc.most {
				t.Errorf("forecast %.3f of what is shed, want %g to %g: the package comment of admission says so", all, tc.least, tc.most)
			}
		})
	}
}
