package admissiontest

import "sync/atomic"

// Gauge counts how many run and remembers the most. Its zero value is ready, and it is
// safe for concurrent use.
type Gauge struct{ now, most atomic.Int64 }

// Enter counts one more.
func (g *Gauge) Enter() {
	n := g.now.Add(1)
	for {
		m := g.most.Load()
		if n <= m || g.most.CompareAndSwap(m, n) {
			return
		}
	}
}

// Leave ends what Enter began.
func (g *Gauge) Leave() { g.now.Add(-1) }

// Now is how many run.
func (g *Gauge) Now() int { return int(g.now.Load()) }

// Most is the most that ran at once so far.
func (g *Gauge) Most() int { return int(g.most.Load()) }
