package core

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// uniformHashes offers n requests of a rank with hashes that are evenly spread.
func (g *gate) uniformHashes(rank, n int) (shed int) {
	for i := range n {
		if g.offer(rank, uint32((float64(i)+0.5)/float64(n)*(1<<32))) {
			shed++
		}
	}
	return shed
}

func TestGateTimeline(t *testing.T) {
	const t1, t5 = 1*NumCohorts + 64, 5 * NumCohorts
	var g gate
	g.set(0, 0)
	offerAll := func() (best, worst int) { return g.uniformHashes(t1, 1000), g.uniformHashes(t5, 3000) }
	for _, act := range []struct {
		why         string
		ratio       float64 // set after the arrivals before
		best, worst int     // shed of 1,000 and of 3,000
	}{
		{"open", 0, 0, 0},
		{"half of all are two thirds of the worst", 0.5, 0, 2000},
		{"the same again: the shed still count as offered", 0.5, 0, 2000},
		{"all of the worst", 0.75, 0, 3000},
		{"and a part of the best", 0.9, 600, 3000},
		{"as much as is ever shed", 0.99, 960, 3000},
		{"open again", 0, 0, 0},
		{"not a number", math.NaN(), 0, 0},
		{"too little to tell from nothing", 1e-17, 0, 0},
	} {
		g.set(act.ratio, 0)
		best, worst := offerAll()
		if math.Abs(float64(best-act.best)) > 10 || math.Abs(float64(worst-act.worst)) > 10 {
			t.Errorf("%s, ratio %v: shed %d and %d, want %d and %d", act.why, act.ratio, best, worst, act.best, act.worst)
		}
		if !(act.ratio >= 1e-16) && g.ratio != 0 {
			t.Errorf("%s: ratio in force is %v, want 0", act.why, g.ratio)
		}
	}
}

// While slots are free the lane's own ratio sheds nobody; what signals ask for
// is shed all the same.
func TestGateRoom(t *testing.T) {
	const t1, t5 = 1*NumCohorts + 64, 5 * NumCohorts
	for _, tc := range []struct {
		why          string
		own, signals float64
		full, room   int // shed of 1,000 of the best and 1,000 of the worst
	}{
		{"nothing asked", 0, 0, 0, 0},
		{"the lane asks", 0.75, 0, 1500, 0},
		{"a signal asks", 0, 0.75, 1500, 1500},
		{"a signal asks for less, of the same rank", 0.4, 0.2, 800, 400},
		{"a signal asks for less, of a worse rank", 0.75, 0.2, 1500, 400},
		{"a signal asks for more", 0.2, 0.75, 1500, 1500},
	} {
		var g gate
		g.set(0, 0)
		g.uniformHashes(t1, 1000)
		g.uniformHashes(t5, 1000)
		g.set(tc.own, tc.signals)
		full, room := 0, 0
		for i := range 1000 {
			hash := uint32(i << 22)
			for _, rank := range []int{t1, t5} {
				if g.offer(rank, hash) {
					full++
				}
				if g.offer(rank, hash) && g.must.sheds(rank, hash) {
					room++
				}
			}
		}
		if math.Abs(float64(full-tc.full)) > 30 || math.Abs(float64(room-tc.room)) > 30 {
			t.Errorf("%s: sheds %d of 2000, with room %d, want %d and %d", tc.why, full, room, tc.full, tc.room)
		}
		if want := max(tc.own, tc.signals); g.ratio != want {
			t.Errorf("%s: ratio in force is %v, want %v", tc.why, g.ratio, want)
		}
	}
}

func TestGateForgets(t *testing.T) {
	var g gate
	g.set(0, 0)
	g.uniformHashes(3, 1000)
	for range 100 {
		g.decay(100 * ms)
	}
	if got := g.ranks[3]; math.Abs(got-1000/math.E) > 1 {
		t.Errorf("after 10 s %.0f of 1000 arrivals count, want 1/e", got)
	}
	g.set(0.5, 0)
	g.uniformHashes(3, 3200)
	for range 30 {
		g.decay(100 * ms)
	}
	if got := g.buckets[7]; math.Abs(got-100/math.E) > 1 {
		t.Errorf("after 3 s %.0f of 100 hashes count, want 1/e", got)
	}
	g.uniformHashes(100, 10_000) // the boundary moves, to what is worse
	g.set(0.5, 0)
	if g.boundary != 100 || g.buckets != [hashBuckets]float64{} {
		t.Errorf("a new boundary, %d, starts with the hashes of the old: %v", g.boundary, g.buckets)
	}
	g.decay(1000 * time.Hour)
	g.set(0.9, 0)
	if g.boundary != NumRanks || g.ratio != 0 {
		t.Errorf("with all forgotten: boundary %d, ratio %v, want open", g.boundary, g.ratio)
	}
	if g.offer(NumRanks-1, 0) {
		t.Error("an empty gate sheds")
	}
}

// oracle is the threshold by brute force: all that was offered, worst first,
// is shed until the ratio is reached. It returns the rank at which that ends
// and the share of it that is shed.
func oracle(offered []int, ratio float64) (boundary int, share float64) {
	total := 0
	for _, n := range offered {
		total += n
	}
	toShed := ratio * float64(total)
	for rank := len(offered) - 1; rank >= 0; rank-- {
		if n := float64(offered[rank]); toShed < n {
			return rank, toShed / n
		} else if toShed -= n; n > 0 && toShed <= 1e-9 {
			return rank, 1
		}
	}
	return 0, 1
}

func TestGateAgainstOracle(t *testing.T) {
	const seed = 3
	r := rand.New(rand.NewPCG(seed, seed))
	for run := range 2000 {
		var g gate
		g.set(0, 0)
		offered := make([]int, NumRanks)
		for range 1 + r.IntN(50) { // few ranks or many, clustered or spread
			rank := r.IntN(NumRanks)
			n := 1 + r.IntN(1000)
			offered[rank] += n
			g.ranks[rank] += float64(n)
		}
		ratio := 0.01 + 0.98*r.Float64()
		g.set(ratio, 0)
		boundary, share := oracle(offered, ratio)
		// What counts is how much is shed: a boundary that is shed whole is the
		// next better one shed not at all.
		shed := func(boundary int, share float64) (sum float64) {
			for rank := boundary + 1; rank < NumRanks; rank++ {
				sum += float64(offered[rank])
			}
			return sum + share*float64(offered[boundary])
		}
		got, want := shed(g.boundary, float64(g.cut)/(1<<32)), shed(boundary, share)
		if math.Abs(got-want) > 1e-3 {
			t.Fatalf("run %d of seed %d, ratio %.3f: boundary %d cut %.4f sheds %.3f, oracle %d %.4f sheds %.3f",
				run, seed, ratio, g.boundary, float64(g.cut)/(1<<32), got, boundary, share, want)
		}
	}
}

// However the hashes at the boundary are spread, the cut sheds the wanted share
// of those that were measured: exactly at the edges of the buckets, and within
// one bucket's count elsewhere.
func TestGateCutAgainstOracle(t *testing.T) {
	const seed, rank = 4, 200
	r := rand.New(rand.NewPCG(seed, seed))
	for run := range 500 {
		var g gate
		g.set(0, 0)
		g.ranks[rank] = 1000
		g.set(0.5, 0) // the boundary
		hashes := make([]uint32, 64+r.IntN(2000))
		skew := 1 + 5*r.Float64()
		for i := range hashes {
			hashes[i] = uint32(math.Pow(r.Float64(), skew) * (1 << 32))
			g.offer(rank, hashes[i])
		}
		ratio := 0.02 + 0.96*r.Float64()
		g.set(ratio, 0)
		shed, widest := 0.0, 0.0
		for _, h := range hashes {
			if h < g.cut {
				shed++
			}
		}
		for _, n := range g.buckets {
			widest = max(widest, n)
		}
		if want := ratio * float64(len(hashes)); math.Abs(shed-want) > widest {
			t.Fatalf("run %d of seed %d: ratio %.3f sheds %.0f of %d hashes, want %.0f give or take %.0f", run, seed, ratio, shed, len(hashes), want, widest)
		}
	}
	var g gate
	for _, phi := range []float64{0, 0.25, 0.5, 1} { // too few hashes: taken as uniform
		if got, want := float64(g.quantile(phi)), phi*(1<<32); math.Abs(got-want) > 1 {
			t.Errorf("quantile %v is %v, want %v", phi, got, want)
		}
	}
}
