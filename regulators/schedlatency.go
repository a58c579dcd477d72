package regulators

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// tail is the share of waits that may be longer than what SchedLatency reads.
	tail = 0.01
	// fewestWaits is how many waits a period counts as having at least. An idle
	// service has some dozens, of which a plain 99th percentile is the longest:
	// one unlucky wake-up would shed its requests.
	fewestWaits = 100
)

type schedLatency struct {
	target float64 // seconds

	mu struct {
		sync.Mutex
		// Two, because metrics.Read writes into the histogram it wrote before.
		before, after []metrics.Sample
		primed        bool
	}
}

// SchedLatency returns a Signal for CPU: how long goroutines that could run
// waited for a processor, as the 99th percentile since the poll before, over
// target. It sees what CPU usage does not: a process throttled by its cgroup or
// by its neighbours waits without being busy. target must be above 0 and has
// no default: 5 to 20 ms suits services that answer in tens of milliseconds, as a
// goroutine may keep a processor for 10 ms before it must yield.
//
// The first poll has no reading ([ErrNoReading]). The runtime samples one wait in
// eight, into four buckets for each doubling (64 ns wide below 0.5 us); the
// reading is the upper edge of its bucket and so up to 25 % too high. A period
// with fewer than 100 samples is taken to have had further ones without a wait, so
// that it takes two long waits to make a reading.
//
// A poll costs about a microsecond and takes no lock of the scheduler. All
// who poll one SchedLatency share its periods: give each poller its own.
func SchedLatency(target time.Duration) (Signal, error) {
	if target <= 0 {
		return nil, fmt.Errorf("regulators: target of SchedLatency is %v, must be above 0", target)
	}
	s := &schedLatency{target: target.Seconds()}
	s.mu.before = []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	s.mu.after = []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	return s, nil
}

func (s *schedLatency) Pressure(context.Context) (float64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.before, s.mu.after = s.mu.after, s.mu.before
	metrics.Read(s.mu.after)
	if s.mu.after[0].Value.Kind() != metrics.KindFloat64Histogram {
		return 0, errors.New("regulators: this Go runtime has no histogram /sched/latencies:seconds")
	}
	if !s.mu.primed {
		s.mu.primed = true
		return 0, fmt.Errorf("%w: SchedLatency needs a period between two polls", ErrNoReading)
	}
	before, after := s.mu.before[0].Value.Float64Histogram(), s.mu.after[0].Value.Float64Histogram()
	return deltaQuantile(before.Counts, after.Counts, after.Buckets) / s.target, nil
}

// deltaQuantile returns the value that a share tail of what was counted between
// two readings of one cumulative histogram lies above: the upper edge of the
// bucket it falls in, or the lower where the upper is infinite. Bucket i lies
// between edges[i] and edges[i+1]. Where fewer than fewestWaits were counted the
// others count as 0.
func deltaQuantile(before, after []uint64, edges []float64) float64 {
	var counted uint64
	for i := range after {
		counted += after[i] - before[i]
	}
	above := uint64(tail * float64(max(counted, fewestWaits)))
	for i := len(after) - 1; i >= 0; i-- {
		if n := after[i] - before[i]; n <= above {
			above -= n
			continue
		}
		if math.IsInf(edges[i+1], 1) {
			return edges[i]
		}
		return edges[i+1]
	}
	return 0
}
