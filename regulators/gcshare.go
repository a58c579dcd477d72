package regulators

import (
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"
)

type gcShare struct {
	target float64

	mu struct {
		sync.Mutex
		samples  []metrics.Sample
		duty     gcDuty
		observed time.Time // when the last collection was noticed
	}
}

// GCShare returns a Signal for the garbage collector's work: the share of the
// CPU time that GOMAXPROCS allows which it took, over target. It rises when the
// heap is too close to its limit, or when requests allocate faster than is good.
// Marking that the runtime does on processors with nothing else to do is not
// counted. target must be above 0 and at most 1 and has no default: a healthy
// service is below 0.05; 0.15 to 0.25 says that something is wrong. Under
// GOMEMLIMIT the runtime itself holds the share at 0.5 and lets the heap grow
// past the limit instead.
//
// The runtime counts at the end of each collection, so the reading is the cost of
// the collections since the last reading over the time that they span, and falls
// when the next one is late. The first reading is the mean since the program
// started. The counts are estimates (see [runtime/metrics]). A poll costs less than a
// microsecond. All who poll one GCShare share its periods: give each poller its own.
func GCShare(target float64) (Signal, error) {
	if !(target > 0 && target <= 1) {
		return nil, fmt.Errorf("regulators: target of GCShare is %v, must be above 0 and at most 1", target)
	}
	g := &gcShare{target: target}
	g.mu.observed = time.Now()
	g.mu.samples = []metrics.Sample{
		{Name: "/cpu/classes/gc/total:cpu-seconds"},
		{Name: "/cpu/classes/gc/mark/idle:cpu-seconds"},
		{Name: "/cpu/classes/total:cpu-seconds"},
	}
	return g, nil
}

func (g *gcShare) Pressure(context.Context) (float64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	metrics.Read(g.mu.samples)
	for _, s := range g.mu.samples {
		if s.Value.Kind() != metrics.KindFloat64 {
			return 0, fmt.Errorf("regulators: this Go runtime has no number %s", s.Name)
		}
	}
	all, idle, total := g.mu.samples[0].Value.Float64(), g.mu.samples[1].Value.Float64(), g.mu.samples[2].Value.Float64()
	now := time.Now()
	if g.mu.duty.count(all-idle, total) {
		g.mu.observed = now
	}
	since := now.Sub(g.mu.observed).Seconds() * float64(runtime.GOMAXPROCS(0))
	return g.mu.duty.share(since) / g.target, nil
}

// gcDuty keeps what the last collections cost, in CPU seconds, and over how many
// that was.
type gcDuty struct {
	collected, total float64 // ever
	cost, span       float64 // of the last collections
}

// count takes in the runtime's counters; true when a collection has ended since.
func (d *gcDuty) count(collected, total float64) bool {
	if total <= d.total {
		return false
	}
	// The counters are estimates; a cost below 0 would be a pressure below 0.
	d.cost, d.span = max(0, collected-d.collected), total-d.total
	d.collected, d.total = collected, total
	return true
}

// share is the cost of the last collections over their span, or over the time
// since, CPU seconds that were there for all, once that is longer: a process that
// has stopped collecting is not held to what the last one cost.
func (d *gcDuty) share(since float64) float64 {
	if d.span <= 0 {
		return 0
	}
	return d.cost / max(d.span, since)
}
