package regulators

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// The oracle counts each key by itself: what the sketch says is never too high,
// never lower by more than the lowest counter can be, and once the top keys have
// held their counters for some half-lives it is exact for them.
func TestHeavyHittersAgainstExactCounts(t *testing.T) {
	const (
		seed     = 11
		k        = 20
		halfLife = time.Second
		tick     = halfLife / 16 // the oracle decays when the sketch does
	)
	r := rand.New(rand.NewPCG(seed, seed))
	zipf := rand.NewZipf(r, 1.3, 1, 100_000)
	h := newHeavyHitters(k, halfLife)
	now := time.Now()
	exact, total := map[uint64]float64{}, 0.0
	for step := range 400 {
		now = now.Add(tick)
		total *= math.Exp2(-1. / 16)
		for key := range exact {
			exact[key] *= math.Exp2(-1. / 16)
		}
		for range 200 {
			key, n := zipf.Uint64()+1, float64(1+r.IntN(5))
			exact[key] += n
			total += n
			own, all := h.add(now, key, n)
			if math.Abs(all-total) > 1e-6*total {
				t.Fatalf("seed %d: all is %v, want %v", seed, all, total)
			}
			if own > exact[key]*(1+1e-9) || own < exact[key]-total/k-1e-6 {
				t.Fatalf("seed %d: key %d is %v, want at most %v and at least %v less", seed, key, own, exact[key], total/k)
			}
			if top := key <= 3; top && step > 200 && math.Abs(own-exact[key]) > 1e-3*exact[key] {
				t.Fatalf("seed %d: top key %d is %v, want %v", seed, key, own, exact[key])
			}
		}
	}
}

func TestHeavyHittersForget(t *testing.T) {
	h := newHeavyHitters(4, time.Second)
	now := time.Now()
	h.add(now, 1, 100)
	now = now.Add(time.Second)
	if own, total := h.add(now, 2, 50); own != 50 || total != 100 {
		t.Errorf("after one half-life: %v of %v, want 50 of 100", own, total)
	}
	if own, total := h.add(now.Add(-time.Hour), 2, 50); own != 100 || total != 150 {
		t.Errorf("clock an hour back: %v of %v, want 100 of 150", own, total)
	}
	now = now.Add(1000 * time.Hour)
	if own, total := h.add(now, 1, 1); own != 1 || total != 1 {
		t.Errorf("after ages: %v of %v, want 1 of 1", own, total)
	}
}
