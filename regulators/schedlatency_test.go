package regulators

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestDeltaQuantile(t *testing.T) {
	inf := math.Inf(1)
	edges := []float64{-inf, 0, 1, 2, 4, inf} // as the runtime has them: under 0 first, no end last
	for name, tc := range map[string]struct {
		before, after []uint64
		want          float64
	}{
		"nothing happened":                      {[]uint64{0, 5, 5, 5, 5}, []uint64{0, 5, 5, 5, 5}, 0},
		"all in one bucket":                     {[]uint64{0, 0, 0, 0, 0}, []uint64{0, 0, 900, 0, 0}, 2},
		"only what is new counts":               {[]uint64{0, 0, 0, 900, 7}, []uint64{0, 800, 0, 900, 7}, 1},
		"one in a hundred above":                {[]uint64{0, 0, 0, 0, 0}, []uint64{0, 990, 0, 10, 0}, 1},
		"one more than that":                    {[]uint64{0, 0, 0, 0, 0}, []uint64{0, 989, 0, 11, 0}, 4},
		"spread over two buckets above":         {[]uint64{0, 0, 0, 0, 0}, []uint64{0, 989, 5, 6, 0}, 2},
		"the last bucket has no upper edge":     {[]uint64{0, 0, 0, 0, 0}, []uint64{0, 0, 0, 0, 900}, 4},
		"a clock that went backwards":           {[]uint64{0, 0, 0, 0, 0}, []uint64{900, 0, 0, 0, 0}, 0},
		"idle: one long wait is bad luck":       {[]uint64{0, 9, 0, 0, 0}, []uint64{0, 9, 0, 1, 0}, 0},
		"idle: the second longest of few":       {[]uint64{0, 0, 0, 0, 0}, []uint64{0, 3, 1, 1, 0}, 2},
		"idle: two long waits make the reading": {[]uint64{0, 0, 0, 0, 0}, []uint64{0, 3, 0, 2, 0}, 4},
	} {
		if got := deltaQuantile(tc.before, tc.after, edges); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// The oracle: sort the waits themselves. The reading is the upper edge of the
// bucket of the wait that one in a hundred is longer than.
func TestDeltaQuantileAgainstSortedWaits(t *testing.T) {
	const seed = 5
	r := rand.New(rand.NewPCG(seed, seed))
	edges := []float64{math.Inf(-1), 0}
	for e := 1e-7; e < 100; e *= 1.25 {
		edges = append(edges, e)
	}
	edges = append(edges, math.Inf(1))
	for range 100 {
		before := make([]uint64, len(edges)-1)
		for i := range before {
			before[i] = r.Uint64N(1000)
		}
		after := slices.Clone(before)
		waits := make([]float64, fewestWaits+r.IntN(5000))
		for i := range waits {
			waits[i] = math.Exp(r.NormFloat64()*3 - 8)
			bucket, found := slices.BinarySearch(edges, waits[i])
			if !found {
				bucket--
			}
			after[bucket]++
		}
		slices.Sort(waits)
		exact := waits[len(waits)-1-len(waits)/100]
		got := deltaQuantile(before, after, edges)
		if got < exact || got > exact*1.25 {
			t.Fatalf("p99 of %d waits: %v, want %v or up to a quarter more", len(waits), got, exact)
		}
	}
}
