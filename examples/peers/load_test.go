package main

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestEveryPeerIsLoadedInVirtualTime plays an overload on each: all requests are answered, none counted twice.
func TestEveryPeerIsLoadedInVirtualTime(t *testing.T) {
	for _, p := range all {
		t.Run(p.name, func(t *testing.T) {
			res, err := offerAlone(t.Context(), load{
				Peer: p.name, Shape: shapes[1], Limit: 24, X: 3, WarmUp: 3 * time.Second, Count: time.Second, Seed: 1,
			})
			if err != nil {
				t.Fatal(err)
			}
			sum := tally{}
			for _, tier := range res.Tiers {
				sum.Offered += tier.Offered
				sum.Good += tier.Good
				sum.Shed += tier.Shed
			}
			if sum != res.tally || res.Good+res.Shed > res.Offered || res.Offered < 2*capacity || res.Good == 0 && p.name != "none" {
				t.Errorf("%+v", res)
			}
			t.Logf("goodput %.0f/s of %.0f, t1 %.3f, p99 %.0f ms", res.Goodput, capacity, res.Tiers[1].share(), 1000*res.P99)
		})
	}
}

// TestLoadIsTheSameForAll: what arrives depends on the seed alone.
func TestLoadIsTheSameForAll(t *testing.T) {
	play1 := func(peer string, seed uint64) (res result) {
		synctest.Test(t, func(t *testing.T) {
			var err error
			res, err = play(load{Peer: peer, Shape: shapes[0], Limit: 16, X: 2, Count: 2 * time.Second, Seed: seed})
			if err != nil {
				t.Error(err)
			}
		})
		return res
	}
	a, b, c := play1("none", 1), play1("x/sync TryAcquire", 1), play1("none", 2)
	for k := range a.Tiers {
		if a.Tiers[k].Offered != b.Tiers[k].Offered {
			t.Errorf("tier %d: %d and %d offered with one seed", k, a.Tiers[k].Offered, b.Tiers[k].Offered)
		}
	}
	if a.Offered == c.Offered && a.Tiers == c.Tiers {
		t.Error("two seeds gave the same load")
	}
}
