package core

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/race"
)

// offered is a phase of a run: so many times the capacity of so many servers.
type offered struct {
	why     string
	servers int
	load    float64
	lasts   time.Duration
	settle  time.Duration // of it, in which anything goes
}

// follow runs phases before a back end of servers of 100 ms with a queue of
// its own, and checks that the limit finds what the servers can do in the mean
// of a few runs: one of two servers is a matter of luck.
func follow(t *testing.T, phases []offered) {
	t.Helper()
	const runs = 4
	var sims [runs]*sim
	for k := range sims {
		sims[k] = newSim(t, Config{Deadline: time.Second}, uint64(7+k))
	}
	for _, p := range phases {
		var limit, goodput float64
		for _, s := range sims {
			l, g := s.follow(p)
			limit, goodput = limit+l/runs, goodput+g/runs
		}
		t.Logf("%s: mean limit %.1f, goodput %.3f", p.why, limit, goodput)
		if p.load > 1 && (limit < 0.8*float64(p.servers) || limit > 2.5*float64(p.servers)+2) {
			t.Errorf("%s: mean limit is %.1f for %d servers", p.why, limit, p.servers)
		}
		least := 0.96
		if p.servers <= 4 { // a slot more or less, and some 2,000 requests of chance
			least = 0.86
		}
		if goodput < least {
			t.Errorf("%s: goodput is %.3f of what %d servers can do", p.why, goodput, p.servers)
		}
	}
}

// follow runs a phase and returns the mean limit and the goodput, as a share of
// what was asked and could be served, of the settled part.
func (s *sim) follow(p offered) (limit, goodput float64) {
	s.servers = p.servers
	capacity := float64(p.servers) * 10
	s.run(p.settle, p.load*capacity)
	var sum, n float64
	s.tick = func() { sum, n = sum+float64(s.lane.Limit()), n+1 }
	good, asked := s.good, s.offered
	s.run(p.lasts-p.settle, p.load*capacity)
	s.tick = nil
	return sum / n, float64(s.good-good) / min(capacity*(p.lasts-p.settle).Seconds(), float64(s.offered-asked))
}

func TestLaneFindsCapacity(t *testing.T) {
	const s = time.Second
	for name, phases := range map[string][]offered{
		"50 servers": {
			{"half its capacity", 50, 0.5, 20 * s, 5 * s},
			{"twice its capacity", 50, 2, 40 * s, 5 * s},
			{"half of the servers gone", 25, 2, 60 * s, 20 * s},
			{"and back", 50, 2, 60 * s, 10 * s},
			{"calm", 50, 0.5, 20 * s, 5 * s},
		},
		"4 servers": {
			{"half its capacity", 4, 0.5, 20 * s, 5 * s},
			{"three times its capacity", 4, 3, 60 * s, 10 * s},
			{"half of the servers gone", 2, 3, 60 * s, 20 * s},
			{"and back", 4, 3, 60 * s, 10 * s},
		},
		"50 servers, cold start": {{"three times its capacity", 50, 3, 60 * s, 10 * s}},
		"4 servers, cold start":  {{"twice its capacity", 4, 2, 180 * s, 60 * s}},
	} {
		if race.Enabled && phases[0].servers > 4 {
			continue // twelve times the requests, in one goroutine, where there is nothing to detect
		}
		t.Run(name, func(t *testing.T) {
			follow(t, phases)
		})
	}
}

// Callers who bring deadlines of their own are what the gate is sized by: with
// a service of 2 ms and no deadline declared it would take them for callers of
// 20 ms, too hasty for a ratio to mean anything, and never shed by rank.
func TestGateIsSizedByTheCallers(t *testing.T) {
	s := newSim(t, pinned(4), 8)
	s.deadline = 2 * time.Second
	s.service = func() time.Duration { return s.exp(10 * ms) }
	top := 0
	s.run(5*time.Second, 2000)
	if got := s.lane.allowance(); got < 600*ms || got > 700*ms {
		t.Errorf("a typical allowance is %v, want a third of 2s", got)
	}
	s.rank = func() int {
		if s.rand.IntN(10) == 0 {
			top++
			return 1 * NumCohorts
		}
		return 4*NumCohorts + s.rand.IntN(NumCohorts)
	}
	var v View
	s.lane.View(s.now, &v)
	before := v.Tiers[1].Admitted
	s.run(20*time.Second, 2000)
	s.lane.View(s.now, &v)
	if share := float64(v.Tiers[1].Admitted-before) / float64(top); share < 0.99 {
		t.Errorf("t1 fits well and was served %.3f of the time", share)
	}
	if share := float64(s.gated) / float64(s.offered); share < 0.6 {
		t.Errorf("the gate shed %.2f of 5x, want most of it", share)
	}
}

// A back end that stops for 20 s: nothing comes out, what runs is known to be
// late, and afterwards the limit is back soon.
func TestLaneStall(t *testing.T) {
	s := newSim(t, Config{Deadline: time.Second}, 9)
	s.servers = 50
	s.run(20*time.Second, 750)
	before := s.lane.Limit()
	service := s.service
	stalledUntil := s.now + 20*time.Second
	s.service = func() time.Duration { return max(stalledUntil-s.now, 0) + service() }
	s.run(20*time.Second, 750)
	if got := s.lane.Limit(); got >= before {
		t.Errorf("limit is %d after 20 s of stall, was %d", got, before)
	}
	s.service = service
	s.run(20*time.Second, 750)
	if got := s.lane.Limit(); got < 20 {
		t.Errorf("limit is %d 20 s after the stall, want above 20", got)
	}
	good := s.good
	s.run(10*time.Second, 750)
	if got := float64(s.good-good) / 10; got < 460 {
		t.Errorf("goodput is %.0f/s after the stall, want 500", got)
	}
}
