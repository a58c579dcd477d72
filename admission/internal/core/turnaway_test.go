package core

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// Who is turned away is who Arrive would refuse for want of a slot, and all is counted
// as it would be.
func TestTurnAway(t *testing.T) {
	const seed = 7
	r := rand.New(rand.NewPCG(seed, seed))
	var cfg Config
	cfg.Limit.Min, cfg.Limit.Initial, cfg.Limit.Max = 1, 6, 20
	lanes := [2]*Lane{newLane(t, cfg), newLane(t, cfg)}
	var running [2][]*Call
	turned, now := 0, time.Duration(0)
	for step := range 50_000 {
		now += time.Duration(r.IntN(2_000_000))
		if now >= lanes[0].TickedAt()+TickPeriod {
			for _, l := range lanes {
				l.Tick(now, 0.5)
				l.Settled()
			}
		}
		if n := len(running[0]); n > 0 && r.IntN(2) == 0 {
			k, o := r.IntN(n), Outcome(r.IntN(int(NumOutcomes)))
			for i, l := range lanes {
				l.Release(now, running[i][k], o)
				l.Settled()
				running[i] = append(running[i][:k], running[i][k+1:]...)
			}
			continue
		}
		rank, cost := r.IntN(NumRanks), []int{1, 1, 1, 3, math.MaxInt / 2}[r.IntN(5)]
		away := lanes[0].TurnAway(rank, cost)
		for i, l := range lanes {
			if i == 0 && away {
				continue
			}
			c := &Call{Rank: rank, Cost: cost}
			if l.Arrive(now, c, 0.5, false) == Running {
				running[i] = append(running[i], c)
			} else if i == 1 && !away && c.Reason == ReasonLimit && !l.tick.idle {
				t.Fatalf("seed %d, step %d: not turned away", seed, step)
			}
		}
		if len(running[0]) != len(running[1]) {
			t.Fatalf("seed %d, step %d: turned away %v, but %d run and %d would", seed, step, away, len(running[0]), len(running[1]))
		}
		if away {
			turned++
		}
	}
	var a, b View
	lanes[0].View(now, &a)
	lanes[1].View(now, &b)
	if !reflect.DeepEqual(a, b) {
		t.Errorf("seed %d: counted\n%+v, want\n%+v", seed, a, b)
	}
	if turned < 1000 {
		t.Errorf("only %d were turned away", turned)
	}
}
