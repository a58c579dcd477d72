package regulators

import (
	"math"
	"time"
)

// heavyHitters counts who comes most often, in bounded memory: the Space-Saving
// sketch of Metwally, Agrawal and El Abbadi ("Efficient Computation of Frequent
// and Top-k Elements in Data Streams", ICDT 2005) over counts that decay, their
// weight halved every half-life. Whoever has more than a k-th of all is among its k counters. A
// newcomer takes the lowest counter and inherits its count, which is how much too
// high his own may be; without it his count is exact.
//
// The counters lie in two slices that are searched from end to end: k is some
// dozens, and at that size neither a map beside a heap nor linked buckets are faster,
// and they would hold on to the keys. Not safe for concurrent use.
type heavyHitters struct {
	hashes   []uint64 // of the keys, apart so that a search reads few cache lines
	counters []counter
	total    float64
	halfLife time.Duration
	decayed  time.Time
}

type counter struct{ count, inherited float64 }

func newHeavyHitters(k int, halfLife time.Duration) heavyHitters {
	return heavyHitters{hashes: make([]uint64, k), counters: make([]counter, k), halfLife: halfLife}
}

// add counts n for the key of that hash and returns the least that it and the most
// that all can have come to.
func (h *heavyHitters) add(now time.Time, hash uint64, n float64) (own, total float64) {
	h.decay(now)
	i := h.find(hash)
	c := &h.counters[i]
	if h.hashes[i] != hash {
		h.hashes[i], c.inherited = hash, c.count
	}
	c.count += n
	h.total += n
	return c.count - c.inherited, h.total
}

// addOthers counts n towards the total alone.
func (h *heavyHitters) addOthers(now time.Time, n float64) {
	h.decay(now)
	h.total += n
}

// find returns the counter of a hash, or the lowest one.
func (h *heavyHitters) find(hash uint64) int {
	for i, other := range h.hashes {
		if other == hash {
			return i
		}
	}
	lowest := 0
	for i := range h.counters {
		if h.counters[i].count < h.counters[lowest].count {
			lowest = i
		}
	}
	return lowest
}

// decay takes the weight off that has been lost since the last time, in steps of a
// sixteenth of a half-life, so that few requests pay for it. All counts shrink
// alike and keep their order. A clock that went backwards stands still until it has caught up.
func (h *heavyHitters) decay(now time.Time) {
	elapsed := now.Sub(h.decayed)
	if elapsed < h.halfLife/16 {
		return
	}
	h.decayed = now
	left := math.Exp2(-float64(elapsed) / float64(h.halfLife))
	h.total *= left
	for i := range h.counters {
		h.counters[i].count *= left
		h.counters[i].inherited *= left
	}
}
