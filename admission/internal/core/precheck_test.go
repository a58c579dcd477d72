package core

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spillway-go/spillway/codel"
	"github.com/spillway-go/spillway/pid"
)

// Two lanes live through the same, but in one each arrival is prechecked: they
// must agree about everybody, and have counted the same.
func TestPrecheckSaysWhatWouldBecomeOfACall(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		cfg := Config{Limit: pid.LimitConfig{Fixed: 3}, Queue: codel.Config{Capacity: 4}, Deadline: time.Second}
		plain, checked := newLane(t, cfg), newLane(t, cfg)
		type pair struct{ plain, checked *Call }
		var alive []pair
		turned := map[Reason]int{}
		now := time.Duration(0)
		for step := range 5000 {
			now += time.Duration(rng.IntN(3)) * ms
			switch {
			case step == 4900:
				plain.Retire()
				checked.Retire()
			case step%50 == 0:
				ratio := max(0, rng.Float64()-0.4)
				plain.SetSignals(ratio, "s")
				checked.SetSignals(ratio, "s")
			case rng.IntN(8) == 0:
				plain.Tick(now, 0.5)
				checked.Tick(now, 0.5)
			case rng.IntN(4) == 0 && len(alive) > 0:
				i := rng.IntN(len(alive))
				plain.Release(now, alive[i].plain, Success)
				checked.Release(now, alive[i].checked, Success)
				alive[i] = alive[len(alive)-1]
				alive = alive[:len(alive)-1]
			default:
				rank, hash := rng.IntN(NumRanks), rng.Uint32()
				p := pair{&Call{Rank: rank, Cost: 1}, &Call{Rank: rank, Cost: 1}}
				why, shed := checked.Precheck(rank)
				if shed {
					turned[why]++
				} else if !checked.Offer(rank, hash, false) {
					checked.Arrive(now, p.checked, 0.5, true)
				}
				if !plain.Offer(rank, hash, false) {
					plain.Arrive(now, p.plain, 0.5, true)
				}
				if shed && (p.plain.State == Running || p.plain.State == Waiting || p.plain.State == Refused && p.plain.Reason != why) {
					t.Fatalf("seed %d, step %d: precheck says %v, but it came to state %d, %v", seed, step, why, p.plain.State, p.plain.Reason)
				}
				if p.plain.State != Idle && p.plain.State != Refused {
					alive = append(alive, p)
				}
			}
			told(plain)
			told(checked)
			alive = keep(alive, func(p pair) bool {
				if p.plain.State != p.checked.State {
					t.Fatalf("seed %d, step %d: states %d and %d", seed, step, p.plain.State, p.checked.State)
				}
				return p.plain.State == Running || p.plain.State == Waiting
			})
			if plain.count.Tiers != checked.count.Tiers || plain.gate != checked.gate ||
				plain.tick.in != checked.tick.in || plain.tick.lost != checked.tick.lost || plain.tick.blocked != checked.tick.blocked {
				t.Fatalf("seed %d, step %d: counted\n%+v, but with precheck\n%+v", seed, step, plain.count.Tiers, checked.count.Tiers)
			}
		}
		if turned[ReasonPriority] == 0 || turned[ReasonQueueFull] == 0 || turned[ReasonClosed] == 0 {
			t.Errorf("seed %d: turned away %v, want some for priority, queue-full and closed", seed, turned)
		}
	}
}

func keep[T any](all []T, ok func(T) bool) (kept []T) {
	for _, v := range all {
		if ok(v) {
			kept = append(kept, v)
		}
	}
	return kept
}
