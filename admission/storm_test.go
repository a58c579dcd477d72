package admission

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Promises 1, 2 and 6 in a storm of everything at once: tiers, costs, deadlines,
// callers that leave, work that fails, panics or is released twice, a limit that
// moves. Whenever all stand still, inflight is the cost of the unreleased
// tickets, and every arrival is accounted for.
func TestStorm(t *testing.T) {
	for seed := range uint64(5) {
		synctest.Test(t, func(t *testing.T) {
			cfg := tenantCap(Config{Lanes: map[string]LaneConfig{"default": {Limit: LimitConfig{Fixed: 20}}}}, 9)
			c := NewQuiet(t, cfg, WithStages(&stageFuncs{name: "s", enter: func(r *Request) error {
				if r.Op == "refused" {
					return errMine
				}
				return nil
			}}))
			var out atomic.Int64 // cost of the unreleased tickets
			var settled [3]atomic.Uint64
			var wg sync.WaitGroup
			for i := range 100 {
				rng := rand.New(rand.NewPCG(seed, uint64(i)))
				wg.Go(func() {
					for range 50 {
						settled[stormRequest(c, rng, &out)].Add(1)
						time.Sleep(time.Duration(rng.IntN(20)) * time.Millisecond)
					}
				})
			}
			storming := make(chan struct{})
			go func() { wg.Wait(); close(storming) }()
			rng, limit, last := rand.New(rand.NewPCG(seed, 1000)), 20, 1000
			for range time.Tick(time.Millisecond) {
				synctest.Wait()
				l := only(t, c)
				if l.Inflight != int(out.Load()) || l.Inflight > max(limit, last) {
					t.Fatalf("seed %d: inflight %d, tickets of %d are out, limit %d", seed, l.Inflight, out.Load(), limit)
				}
				last = l.Inflight
				for i, tier := range l.Tiers {
					sum := tier.Admitted + tier.Left + uint64(l.Queued[i])
					for _, n := range tier.Shed {
						sum += n
					}
					if tier.Arrived != sum {
						t.Fatalf("seed %d: t%d: %d arrived, %d accounted for", seed, i, tier.Arrived, sum)
					}
				}
				if rng.IntN(50) == 0 {
					limit, last = 4+rng.IntN(20), 1000
					lane := cfg.Lanes["default"]
					lane.Limit.Fixed = limit
					cfg.Lanes["default"] = lane
					if err := c.Apply(cfg); err != nil {
						t.Fatal(err)
					}
				}
				select {
				case <-storming:
				default:
					continue
				}
				break
			}
			var admitted, refused, left uint64
			for _, tier := range only(t, c).Tiers {
				admitted, left = admitted+tier.Admitted, left+tier.Left
			}
			refused = shed(only(t, c))
			if admitted != settled[0].Load() || refused != settled[1].Load() || left != settled[2].Load() {
				t.Errorf("seed %d: admitted %d, shed %d, left %d; callers saw %d, %d, %d", seed,
					admitted, refused, left, settled[0].Load(), settled[1].Load(), settled[2].Load())
			}
			if admitted == 0 || refused == 0 || left == 0 {
				t.Errorf("seed %d: admitted %d, shed %d, left %d: no storm", seed, admitted, refused, left)
			}
		})
	}
}

// stormRequest tells what became of the request: 0 admitted, 1 shed, 2 left.
func stormRequest(c *Controller, rng *rand.Rand, out *atomic.Int64) int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+rng.IntN(100))*time.Millisecond)
	defer cancel()
	if rng.IntN(2) == 0 {
		time.AfterFunc(time.Duration(rng.IntN(10))*time.Millisecond, cancel)
	}
	r := Request{
		Priority: NewPriority(Tier(rng.IntN(6)), rng.IntN(128)),
		Tenant:   string(rune('a' + rng.IntN(5))), Cost: 1 + rng.IntN(4), Attempt: rng.IntN(2),
		Op: []string{"served", "refused"}[rng.IntN(20)/19],
	}
	ask := c.Admit
	if rng.IntN(4) == 0 {
		ask = c.TryAdmit
	}
	ticket, err := ask(ctx, r)
	switch {
	case errors.Is(err, ErrShed):
		return 1
	case err != nil:
		return 2
	}
	out.Add(int64(r.Cost))
	time.Sleep(time.Duration(rng.IntN(10)) * time.Millisecond)
	out.Add(-int64(r.Cost))
	ticket.Release(Outcome(rng.IntN(5)))
	ticket.Release(Success)
	return 0
}
