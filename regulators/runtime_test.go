package regulators_test

import (
	"errors"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-go/spillway/regulators"
)

func newSchedLatency(t testing.TB) regulators.Signal {
	t.Helper()
	s, err := regulators.SchedLatency(time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestGoroutines(t *testing.T) {
	s, err := regulators.Goroutines(200)
	if err != nil {
		t.Fatal(err)
	}
	before, err := s.Pressure(t.Context())
	if err != nil || before <= 0 || before > 0.2 {
		t.Fatalf("at rest: %v, %v", before, err)
	}
	release := make(chan struct{})
	var wg sync.WaitGroup
	for range 300 {
		wg.Go(func() { <-release })
	}
	during, err := s.Pressure(t.Context())
	close(release)
	wg.Wait()
	// A few of the test runner's own may come or go.
	if err != nil || math.Abs(during-before-1.5) > 0.05 {
		t.Errorf("300 more goroutines of 200: from %v to %v, %v", before, during, err)
	}
}

func TestRuntimeSignalErrors(t *testing.T) {
	for _, n := range []int{0, -5} {
		if s, err := regulators.Goroutines(n); s != nil || err == nil || !strings.Contains(err.Error(), "regulators: atMost of Goroutines is ") {
			t.Errorf("Goroutines(%d) = %v, %v", n, s, err)
		}
	}
	for _, d := range []time.Duration{0, -time.Second} {
		if s, err := regulators.SchedLatency(d); s != nil || err == nil || !strings.Contains(err.Error(), "regulators: target of SchedLatency is "+d.String()) {
			t.Errorf("SchedLatency(%v) = %v, %v", d, s, err)
		}
	}
}

// Eight goroutines that keep one processor for 2 ms at a time wait about 14 ms
// for their turn.
func TestSchedLatencySeesWaits(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := newSchedLatency(t)
	if got, err := s.Pressure(t.Context()); !errors.Is(err, regulators.ErrNoReading) {
		t.Fatalf("first poll: %v, %v, want ErrNoReading", got, err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				for start := time.Now(); time.Since(start) < 2*time.Millisecond; {
				}
				runtime.Gosched()
			}
		})
	}
	wg.Wait()
	got, err := s.Pressure(t.Context())
	t.Logf("pressure %.1f", got)
	if err != nil || got < 5 {
		t.Errorf("waits of some 14 ms over a target of 1 ms: %v, %v", got, err)
	}
}

// What was counted before the last poll is not counted again.
func TestSchedLatencyForgets(t *testing.T) {
	s := newSchedLatency(t)
	for range 2 {
		_, _ = s.Pressure(t.Context())
	}
	// Nothing or next to nothing runs between two polls in a row.
	least := math.Inf(1)
	for range 20 {
		got, err := s.Pressure(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		least = min(least, got)
	}
	if least != 0 {
		t.Errorf("the lowest of 20 polls in a row is %v, want 0", least)
	}
}

func BenchmarkGoroutines(b *testing.B) {
	s, err := regulators.Goroutines(100)
	if err != nil {
		b.Fatal(err)
	}
	benchmarkPoll(b, s)
}

func BenchmarkSchedLatency(b *testing.B) { benchmarkPoll(b, newSchedLatency(b)) }

func BenchmarkHeap(b *testing.B) {
	for name, limit := range map[string]int64{"number": 1 << 30, "found": 0} {
		b.Run(name, func(b *testing.B) {
			defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 30))
			s, err := regulators.Heap(limit)
			if err != nil {
				b.Fatal(err)
			}
			benchmarkPoll(b, s)
		})
	}
}

func BenchmarkGCShare(b *testing.B) {
	s, err := regulators.GCShare(0.2)
	if err != nil {
		b.Fatal(err)
	}
	benchmarkPoll(b, s)
}

func BenchmarkValue(b *testing.B) {
	var v regulators.Value
	v.Set(1)
	benchmarkPoll(b, &v)
}

func benchmarkPoll(b *testing.B, s regulators.Signal) {
	ctx := b.Context()
	_, _ = s.Pressure(ctx)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Pressure(ctx); err != nil {
			b.Fatal(err)
		}
	}
}
