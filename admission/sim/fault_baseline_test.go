package sim

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/internal/core"
	"github.com/spillway-go/spillway/codel"
	"github.com/spillway-go/spillway/internal/race"
	"github.com/spillway-go/spillway/pid"
)

// B10: the service time "without load" is measured with requests that began
// under load. Each measurement is a little higher, allows a little more load,
// and so on. A server of 20 cores, 200 callers who never pause, ten minutes.
func TestB10BaselineDoesNotDriftUp(t *testing.T) {
	if race.Enabled {
		return
	}
	s := Scenario{
		Name: "b10", DurationS: 600, CapacityRPS: 2000, Seed: 10,
		Backend: []Station{{Cores: 20, Dist: Dist{Kind: "det", MeanMS: 10}}},
		Load:    Arrivals{ClosedClients: 200},
		Client:  Client{DeadlineMS: 1000},
	}
	if testing.Short() {
		s.DurationS = 300
	}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	// All of them find a place in the queue, or those refused would pause.
	cfg := admission.Config{Lanes: map[string]admission.LaneConfig{defaultLane: {
		Limit: pid.LimitConfig{Min: 1, Max: 1000, Initial: 20}, Queue: codel.Config{Capacity: 200},
	}}}
	lane, err := core.New(coreOf(cfg.WithDefaults().Lanes[defaultLane]), nil)
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(s, lane, false)
	var limits, baselines [2]float64 // means of the halves
	for at := time.Second; at <= e.end; at += 100 * time.Millisecond {
		for e.now < at {
			e.step()
		}
		var v core.View
		lane.View(e.now, &v)
		if at < time.Minute {
			continue
		}
		if base := v.LimitState.Baseline; v.Limit > 60 || base > 20*time.Millisecond {
			t.Fatalf("at %v: limit %d, baseline %v: %s", at, v.Limit, base, v.LimitState.Why)
		}
		half := 0
		if at > e.end/2+30*time.Second {
			half = 1
		}
		limits[half] += float64(v.Limit)
		baselines[half] += v.LimitState.Baseline.Seconds()
	}
	r := e.tally.report(&s)
	t.Logf("limit %.3f, baseline %.3f of the first half; goodput %.0f/s", limits[1]/limits[0], baselines[1]/baselines[0], r.Goodput)
	if limits[1] > 1.1*limits[0] || baselines[1] > 1.1*baselines[0] {
		t.Errorf("the second half's mean limit is %.2f times the first's, the baseline %.2f times", limits[1]/limits[0], baselines[1]/baselines[0])
	}
	if r.Goodput < 1800 {
		t.Errorf("goodput is %.0f/s, want 90 %% of 2,000", r.Goodput)
	}
}
