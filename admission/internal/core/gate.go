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

	threshold           // in force
	must      threshold // what signals alone ask for: it holds though slots are free
	ratio     float64   // in force

	loads [NumTiers]float64 // of a tier and all better ones, over the capacity; 0: not known
}

// threshold tells who is shed: ranks above the boundary (NumRanks: nobody) and,
// at the boundary, hashes below the cut.
type threshold struct {
	boundary int
	cut      uint32
}

func (t threshold) sheds(rank int, hash uint32) bool {
	return rank > t.boundary || rank == t.boundary && hash < t.cut
}

const (
	hashBuckets  = 32
	hashShift    = 32 - 5
	hashesNeeded = 64 // below it the hashes are taken as uniform
	rankMemory   = 10 // seconds
	hashMemory   = 3  // seconds
)

// offer counts an arrival and tells whether it is shed, unless slots are free: then
// must decides.
func (g *gate) offer(rank int, hash uint32) (shed bool) {
	g.ranks[rank]++
	if rank < g.boundary {
		return false
	}
	if rank == g.boundary {
		g.buckets[hash>>hashShift]++
	}
	return g.sheds(rank, hash)
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

// set makes the thresholds for the larger of what the lane itself and the
// signals ask for, and for the signals alone.
func (g *gate) set(own, signals float64) {
	ratio := max(own, signals)
	b, phi := g.boundaryOf(ratio)
	if b == NumRanks {
		ratio = 0
	} else if b != g.boundary {
		g.buckets = [hashBuckets]float64{}
	}
	g.ratio, g.threshold = ratio, threshold{b, g.quantile(phi)}
	g.must = g.threshold
	if signals < ratio {
		b, phi = g.boundaryOf(signals)
		g.must = threshold{b, cutAt(phi * hashBuckets)} // the hashes measured are those of another boundary
	}
}

// boundaryOf is the rank at which a ratio of what was offered is shed, and the
// share of it; NumRanks for none.
func (g *gate) boundaryOf(ratio float64) (boundary int, phi float64) {
	if !(ratio > 0) {
		return NumRanks, 0
	}
	total := 0.0
	for _, n := range g.ranks {
		total += n
	}
	pass, below := (1-ratio)*total, 0.0
	for i, n := range g.ranks {
		if below+n > pass {
			return i, min(max(1-(pass-below)/n, 0), 1)
		}
		below += n
	}
	return NumRanks, 0 // a ratio below what 1-ratio can tell from 1
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
	return cutAt(at)
}

// cutAt is the hash at so many buckets.
func cutAt(at float64) uint32 { return uint32(min(at/hashBuckets*(1<<32), math.MaxUint32)) }

// load shares the load, what is offered over the capacity, out to the tiers.
func (g *gate) load(load float64) {
	var sums [NumTiers]float64
	total := 0.0
	for i, n := range g.ranks {
		total += n
		sums[i/NumCohorts] = total
	}
	for i, sum := range sums {
		g.loads[i] = load * sum / max(total, 1)
	}
}
