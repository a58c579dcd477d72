package sim

import (
	"testing"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/internal/race"
)

// herd is what a stop of the back end does to clients who retry.
type herd struct {
	during, after float64 // most retries in 100 ms, in units of capacity: in the stop and the 5 s after it
	dip           float64 // goodput lost in the 10 s after the stop, in seconds of what is offered; negative: late answers to what was asked in it
}

const stopAt, stopFor = 20.0, 5.0

// stop runs 0.8 of the capacity through a stop of the whole back end.
func stop(t *testing.T, s Scenario, c Client) herd {
	t.Helper()
	const load, runs = 0.8, 4
	s.DurationS, s.Seed = 45, 1
	s.Load = Arrivals{Points: []Point{{0, load}}}
	s.Backend[0].Speed = []Point{{0, 1}, {stopAt, 1}, {stopAt, 0}, {stopAt + stopFor, 0}, {stopAt + stopFor, 1}}
	c.DeadlineMS, c.MaxRetry = s.Client.DeadlineMS, 3
	s.Client = c
	var h herd
	for k := range runs {
		r, err := Run(admission.Config{}, s.Seeded(k))
		if err != nil {
			t.Fatal(err)
		}
		const over = stopAt + stopFor
		_, during := rates(part(r.Trace.Retries, stopAt, over))
		_, after := rates(part(r.Trace.Retries, over, over+5))
		good, _ := rates(part(r.Trace.Good, over, over+10))
		h.during += during / s.CapacityRPS / runs
		h.after += after / s.CapacityRPS / runs
		h.dip += 10 * (1 - good/(load*s.CapacityRPS)) / runs
	}
	return h
}

// A hint that grows as long as nothing is answered brings the retries when the
// stop is over; a constant second brings them into it, several times the
// capacity at once, until the clients have no tries left. A constant of the
// stop's length would be as good, and is not known beforehand.
func TestHintsThroughAStop(t *testing.T) {
	if race.Enabled {
		return
	}
	for _, s := range []Scenario{
		{
			Name: "16 cores", CapacityRPS: 800, Backend: []Station{{Cores: 16, Dist: Dist{Kind: "exp", MeanMS: 20}}},
			Client: Client{DeadlineMS: 500},
		},
		{
			Name: "50 servers", CapacityRPS: 500, Backend: []Station{{Servers: 50, Dist: Dist{Kind: "exp", MeanMS: 100}}},
			Client: Client{DeadlineMS: 3000},
		},
	} {
		at := map[string]herd{}
		for _, c := range []struct {
			name string
			is   Client
		}{
			{"immediate", Client{Retry: "immediate"}},
			{"backoff", Client{Retry: "backoff", BaseMS: 100}},
			{"1 s", Client{Retry: "after", BaseMS: 1000}},
			{"1 s, jittered", Client{Retry: "after", BaseMS: 1000, RetryAfterJitter: 0.5}},
			{"3 s, jittered", Client{Retry: "after", BaseMS: 3000, RetryAfterJitter: 0.5}},
			{"hint", Client{Retry: "hint", BaseMS: 1000, RetryAfterJitter: 0.5}},
		} {
			h := stop(t, s, c.is)
			at[c.name] = h
			t.Logf("%s, %s: peak %.1f in the stop and %.1f after it, dip %.2f s", s.Name, c.name, h.during, h.after, h.dip)
		}
		hint, constant := at["hint"], at["1 s, jittered"]
		if hint.during > 0.6*constant.during || hint.after > 0.85*constant.after {
			t.Errorf("%s: peaks of %.1f in the stop and %.1f after it, want well below %.1f and %.1f, which a constant second makes",
				s.Name, hint.during, hint.after, constant.during, constant.after)
		}
		if hint.dip > constant.dip-0.3 || hint.dip > 0.3 {
			t.Errorf("%s: %.2f s of goodput are lost after the stop, want less than 0.3 s, and less than %.2f s, which a constant second costs",
				s.Name, hint.dip, constant.dip)
		}
		if h := at["immediate"]; hint.during > 0.5*h.during || hint.dip > h.dip-1 {
			t.Errorf("%s: no better than clients who do not listen: %+v and %+v", s.Name, hint, h)
		}
	}
}
