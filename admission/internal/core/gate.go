package core

import (
	"math"
	"time"
)

// gate sheds by priority: it turns a shed ratio into a threshold over the
// ranks that were offered lately, all of them, not the survivors: otherwise
// shedding the worst rank would make it vanish from the histogram and the
// threshold would climb to the next one.
//
// At the boundary rank a hash decides. Its cut is the wanted quantile of the
// hashes measured at that rank: taking them as uniform makes the ratio
// oscillate as soon as shed requests are retried with the same hash (0.02 to
// 0.74 measured).
type gate struct {
	ranks   [NumRanks]float64    // offered lately, by rank
	buckets [hashBuckets]float64 // offered at the boundary rank, by hash

	boundary int     // ranks above it are shed; NumRanks: nobody
	cut      uint32  // at the boundary rank hashes below it are shed
	ratio    float64 // in force
}

const (
	hashBuckets  = 32
	hashShift    = 32 - 5
	hashesNeeded = 64 // below it the hashes are taken as uniform
	rankMemory   = 10 // seconds
	hashMemory   = 3  // seconds
)

// offer counts an arrival and tells whether it is shed.
func (g *gate) offer(rank int, hash uint32) (shed bool) {
	g.ranks[rank]++
	if rank < g.boundary {
		return false
	}
	if rank > g.boundary {
		return true
	}
	g.buckets[hash>>hashShift]++
	return hash < g.cut
}

// decay forgets.
func (g *gate) decay(dt time.Duration) {
	f := math.Exp(-dt.Seconds() / rankMemory)
	for i := range g.ranks {
		g.ranks[i] *= f
	}
	f = math.Exp(-dt.Seconds() / hashMemory)
	for i := range g.buckets {
		g.buckets[i] *= f
	}
}

// set makes the threshold for a ratio.
func (g *gate) set(ratio float64) {
	g.ratio = ratio
	total := 0.0
	for _, n := range g.ranks {
		total += n
	}
	b, pass, below := NumRanks, (1-ratio)*total, 0.0
	for i, n := range g.ranks {
		if below+n > pass {
			b = i
			break
		}
		below += n
	}
	// A ratio below what 1-ratio can tell from 1 finds no boundary either.
	if !(ratio > 0) || b == NumRanks {
		g.boundary, g.cut, g.ratio = NumRanks, 0, 0
		return
	}
	if b != g.boundary {
		g.boundary, g.buckets = b, [hashBuckets]float64{}
	}
	phi := 1 - (pass-below)/g.ranks[b]
	g.cut = g.quantile(min(max(phi, 0), 1))
}

// quantile is the hash below which the share phi of the boundary's requests
// lies, linear inside a bucket.
func (g *gate) quantile(phi float64) uint32 {
	total := 0.0
	for _, n := range g.buckets {
		total += n
	}
	at := phi * hashBuckets
	if total >= hashesNeeded {
		want := phi * total
		at = hashBuckets
		for i, n := range g.buckets {
			if want < n {
				at = float64(i) + want/n
				break
			}
			want -= n
		}
	}
	return uint32(min(at/hashBuckets*(1<<32), math.MaxUint32))
}
