package sim

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/internal/core"
	"github.com/spillway-go/spillway/internal/race"
	"github.com/spillway-go/spillway/pid"
)

// overloaded is a back end of eight cores with contention under twice the load
// it bears.
func overloaded() Scenario {
	return Scenario{
		Name: "overloaded", DurationS: 10, MeasureFromS: 1, StepAtS: 2, CapacityRPS: 800, Seed: 5,
		Backend: []Station{
			{Cores: 8, Knee: 16, Beta: 0.02, Dist: Dist{Kind: "exp", MeanMS: 10}},
			{Servers: 4, Dist: Dist{Kind: "lognormal", Sigma: 1, MeanMS: 2}},
		},
		Load:    Arrivals{Points: []Point{{0, 0.5}, {2, 0.5}, {2, 2}}},
		Client:  Client{DeadlineMS: 80, TightDeadlineMS: 30},
		TierMix: []float64{0.02, 0.28, 0.25, 0.2, 0.15, 0.1},
	}
}

// variants are ways in which clients behave.
var variants = []struct {
	name   string
	change func(*Scenario)
}{
	{"plain", func(*Scenario) {}},
	{"immediate", func(s *Scenario) { s.Client.Retry, s.Client.MaxRetry = "immediate", 3 }},
	{"backoff", func(s *Scenario) { s.Client.Retry, s.Client.MaxRetry, s.Client.BaseMS = "backoff", 3, 100 }},
	{"after", func(s *Scenario) {
		s.Client.Retry, s.Client.MaxRetry, s.Client.BaseMS, s.Client.RetryAfterJitter = "after", 2, 500, 0.5
	}},
	{"hint", func(s *Scenario) {
		s.Client.Retry, s.Client.MaxRetry, s.Client.BaseMS, s.Client.RetryAfterJitter = "hint", 2, 500, 0.5
	}},
	{"cancel", func(s *Scenario) { s.Client.CancelReleasesSlot = true }},
	{"cancel and retry", func(s *Scenario) {
		s.Client.CancelReleasesSlot, s.Client.Retry, s.Client.MaxRetry = true, "immediate", 3
	}},
	{"cancel stops work", func(s *Scenario) { s.Client.CancelStopsWork = true }},
	{"cancel does both", func(s *Scenario) { s.Client.CancelStopsWork, s.Client.CancelReleasesSlot = true, true }},
	{"refusals cost", func(s *Scenario) { s.Backend[0].RefusalMS, s.Backend[1].RefusalMS = 0.5, 0.1 }},
	{"a pool", func(s *Scenario) {
		s.Client.CancelStopsWork = true
		s.Backend = []Station{{Servers: 16, Cores: 8, Visits: []float64{1, 4, 5}, Random: true, RefusalMS: 0.2, Dist: Dist{Kind: "exp", MeanMS: 10}}}
	}},
	{"closed", func(s *Scenario) { s.Load = Arrivals{ClosedClients: 40} }},
	{"thinking", func(s *Scenario) { s.Load = Arrivals{ClosedClients: 100, ThinkMS: 50} }},
	{"open and closed", func(s *Scenario) { s.Load.ClosedClients = 10 }},
	{"stalled", func(s *Scenario) {
		s.Backend[0].Speed = []Point{{0, 1}, {5, 1}, {5, 0}, {7, 0}, {7, 1}}
	}},
	{"all the same", func(s *Scenario) { s.OneRank = true }},
	{"dear tiers", func(s *Scenario) { s.TierWork = []float64{0.5, 0.5, 1, 2} }},
	{"no tiers", func(s *Scenario) { s.TierMix = nil }},
}

// some are the variants, or every fourth of them under the race detector: a run is one
// goroutine, in which there is nothing to detect.
func some() (few []int) {
	step := 1
	if race.Enabled {
		step = 4
	}
	for i := 0; i < len(variants); i += step {
		few = append(few, i)
	}
	return few
}

// Two runs are alike in all; another seed is another run.
func TestDeterministic(t *testing.T) {
	for _, i := range some() {
		v, s := variants[i], overloaded()
		v.change(&s)
		for _, f := range []Front{Full, Lab} {
			a, errA := f.Run(admission.Config{}, s)
			b, errB := f.Run(admission.Config{}, s)
			if errA != nil || errB != nil || !reflect.DeepEqual(a, b) {
				t.Errorf("%s, %v: runs differ (%v, %v)", v.name, f, errA, errB)
			}
			if c, err := f.Run(admission.Config{}, s.Seeded(1)); err != nil || c.Attempts == a.Attempts && c.Good == a.Good {
				t.Errorf("%s, %v: another seed came out the same (%v)", v.name, f, err)
			}
		}
	}
}

// Every attempt comes to one end; the lane counted the same; and when all have
// gone nothing is left.
func TestAccounting(t *testing.T) {
	for _, i := range some() {
		v := variants[i]
		for _, law := range []string{"", "tight", "codel"} {
			for _, limit := range []int{0, 1, 12, 500} {
				t.Run(fmt.Sprintf("%s/%s/%d", v.name, law, limit), func(t *testing.T) {
					s := overloaded()
					v.change(&s)
					s.MeasureFromS, s.DurationS = 0, 8
					cfg := admission.Config{Lanes: map[string]admission.LaneConfig{"default": {Limit: pid.LimitConfig{Fixed: limit}}}}.WithDefaults().Lanes["default"]
					cfg.Queue.Law = law
					lane, err := core.New(coreOf(cfg), nil)
					if err != nil {
						t.Fatal(err)
					}
					e := newEngine(s, lane, false)
					e.run()
					checkCounts(t, e)
					checkEmpty(t, e)
				})
			}
		}
	}
}

func checkCounts(t *testing.T, e *engine) {
	t.Helper()
	var v core.View
	e.lane.View(e.now, &v)
	r := e.tally.report(&e.scenario)
	ends := r.Good + r.Late + r.Left
	for i, tier := range r.Tiers {
		lane := v.Tiers[i]
		admitted := tier.Good + tier.Late
		if lane.Arrived != tier.Attempts || lane.Shed != tier.Shed || lane.Left != tier.Left || lane.Admitted != admitted {
			t.Errorf("t%d: lane counted %+v, clients %+v", i, lane, tier)
		}
		for _, n := range tier.Shed {
			ends += n
		}
	}
	if r.Attempts != ends || r.Attempts == 0 {
		t.Errorf("%d attempts, %d ends", r.Attempts, ends)
	}
	if r.Requests > r.Attempts || r.Good > r.Requests || r.TightGoodput > r.Goodput || r.Good == 0 && e.scenario.Client.Retry == "" {
		t.Errorf("requests %d, attempts %d, good %d, goodput %v, tight %v", r.Requests, r.Attempts, r.Good, r.Goodput, r.TightGoodput)
	}
}

// checkEmpty ends what still runs for nobody and finds nothing after that.
func checkEmpty(t *testing.T, e *engine) {
	t.Helper()
	if e.open != 0 {
		t.Errorf("%d requests are open", e.open)
	}
	for end := e.now + time.Hour; e.lane.Inflight() > 0 && e.now < end; {
		e.step()
	}
	inflight, _, queued, _ := e.lane.Load()
	if inflight != 0 || queued != 0 {
		t.Errorf("at the end %d slots are taken and %d wait", inflight, queued)
	}
}

// With the same arrivals and the same work, more servers' worth of limit than
// anybody needs changes nothing; a limit of one changes much.
func TestPairedRuns(t *testing.T) {
	s := overloaded()
	s.Load.Points = []Point{{0, 0.3}}
	run := func(limit int) Report {
		t.Helper()
		r, err := Lab.Run(admission.Config{Lanes: map[string]admission.LaneConfig{"default": {Limit: pid.LimitConfig{Fixed: limit}}}}, s)
		if err != nil {
			t.Fatal(err)
		}
		r.MeanLimit, r.Trace.Limit = 0, nil
		return r
	}
	wide, wider, one := run(500), run(1000), run(1)
	if !reflect.DeepEqual(wide, wider) {
		t.Errorf("limits 500 and 1000 differ: %+v and %+v", wide, wider)
	}
	if one.Requests != wide.Requests || one.Good >= wide.Good {
		t.Errorf("limit 1: %d requests, %d good; 500: %d and %d", one.Requests, one.Good, wide.Requests, wide.Good)
	}
}

// A lane that declares no deadline goes by its callers', and does as well.
func TestDeadlineIsMeasured(t *testing.T) {
	s := load(t, "testdata/valid/55.json")
	measured, err := Run(admission.Config{}, s)
	if err != nil {
		t.Fatal(err)
	}
	declared, err := Run(admission.Config{Lanes: map[string]admission.LaneConfig{"default": {Deadline: millis(s.Client.DeadlineMS)}}}, s)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "goodput", measured.Goodput, declared.Goodput, 0.01)
}

// Without a lane the overload is a collapse.
func TestOff(t *testing.T) {
	s := overloaded()
	on, err := Run(admission.Config{}, s)
	if err != nil {
		t.Fatal(err)
	}
	off, err := Run(admission.Config{Mode: admission.Off}, s)
	if err != nil {
		t.Fatal(err)
	}
	if on.Goodput < 600 || off.Goodput > 0.5*on.Goodput || off.Good+off.Late != off.Attempts {
		t.Errorf("on %.0f/s, off %.0f/s: %+v", on.Goodput, off.Goodput, off.Shed)
	}
}

func TestRunErrors(t *testing.T) {
	_, err := Run(admission.Config{Mode: 3, Scorecard: admission.ScorecardConfig{MaxTenants: -1}}, Scenario{})
	for _, want := range []string{
		"admission: mode is mode(3): must be enforce, shadow or off",
		"admission: scorecard.max_tenants is -1",
		"sim: duration_s is 0",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want in it %q", err, want)
		}
	}
}

// A run allocates for its pools and traces, not for its requests.
func TestAllocations(t *testing.T) {
	allocs := func(seconds float64) float64 {
		s := overloaded()
		s.DurationS = seconds
		return testing.AllocsPerRun(1, func() {
			if _, err := Run(admission.Config{}, s); err != nil {
				t.Fatal(err)
			}
		})
	}
	short, long := allocs(20), allocs(60)
	if more := long - short; more > 100 {
		t.Errorf("%v allocations more for 64,000 requests more", more)
	}
}
