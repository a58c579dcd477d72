package main

import (
	"math"
	"testing"
	"time"

	"github.com/spillway-go/spillway/admission/sim"
)

// What the load test writes is a scenario whose capacity is the one of the report, with the
// tiers as they are asked for and a mean of their work that is that of the service.
func checkScenario(t *testing.T, path string, capacity float64) {
	t.Helper()
	s, err := sim.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	b := s.Backend[0]
	if math.Abs(s.CapacityRPS/capacity-1) > 0.01 || math.Abs(b.Dist.MeanMS*s.CapacityRPS/1000-1) > 0.02 {
		t.Errorf("capacity %v with a mean of %v ms, measured %v", s.CapacityRPS, b.Dist.MeanMS, capacity)
	}
	mean := 0.0
	for tier, share := range s.TierMix {
		mean += share * s.TierWork[tier]
	}
	if math.Abs(mean-1) > 0.02 || math.Abs(s.TierMix[1]-0.35) > 1e-9 || math.Abs(s.TierMix[5]-0.2) > 1e-9 {
		t.Errorf("tiers %v with work %v, %v in the mean", s.TierMix, s.TierWork, mean)
	}
	if b.RefusalMS > b.Dist.MeanMS {
		t.Errorf("to refuse takes %v ms, to serve %v", b.RefusalMS, b.Dist.MeanMS)
	}
}

func TestLognormal(t *testing.T) {
	if mean, sigma := lognormal([]time.Duration{time.Second, time.Second}); mean != 1 || sigma != 0 {
		t.Errorf("of equals: %v, %v", mean, sigma)
	}
	e := math.E * float64(time.Second)
	if mean, sigma := lognormal([]time.Duration{time.Second, time.Duration(e)}); math.Abs(mean-(1+math.E)/2) > 1e-6 || math.Abs(sigma-0.5) > 1e-6 {
		t.Errorf("mean %v, sigma %v", mean, sigma)
	}
	for v, want := range map[float64]float64{0: 0, 8.6237: 8.62, 0.15449: 0.154, 1234.5: 1230} {
		if got := round(v); got != want {
			t.Errorf("%v: %v, want %v", v, got, want)
		}
	}
}
