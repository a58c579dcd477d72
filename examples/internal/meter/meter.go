package meter

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"time"
)

const sampleEvery = 50 * time.Millisecond

// Usage is what the process uses. Peaks are of samples, 20 a second, since the last reset.
type Usage struct {
	Goroutines     int   `json:"goroutines"`
	GoroutinesPeak int   `json:"goroutines_peak"`
	HeapPeakBytes  int64 `json:"heap_peak_bytes"` // Go's heap; what a C library or its translation maps for itself is outside
}

// Meter samples until it is stopped. It is safe for concurrent use; make it with New.
type Meter struct {
	quit chan struct{}
	wg   sync.WaitGroup

	mu struct {
		sync.Mutex
		samples []metrics.Sample
		usage   Usage
	}
}

// New starts a Meter. Each of the functions in also, if any, is called at every sample, on the Meter's goroutine.
func New(also ...func()) *Meter {
	m := &Meter{quit: make(chan struct{})}
	m.mu.samples = []metrics.Sample{{Name: "/sched/goroutines:goroutines"}, {Name: "/memory/classes/heap/objects:bytes"}}
	m.wg.Go(func() {
		tick := time.NewTicker(sampleEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				m.Sample()
				for _, f := range also {
					f()
				}
			case <-m.quit:
				return
			}
		}
	})
	return m
}

// Stop ends the Meter. It must be called once.
func (m *Meter) Stop() {
	close(m.quit)
	m.wg.Wait()
}

// Sample takes a sample now and returns it with the peaks.
func (m *Meter) Sample() Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	metrics.Read(m.mu.samples)
	u := &m.mu.usage
	u.Goroutines = int(m.mu.samples[0].Value.Uint64())
	u.GoroutinesPeak = max(u.GoroutinesPeak, u.Goroutines)
	u.HeapPeakBytes = max(u.HeapPeakBytes, int64(m.mu.samples[1].Value.Uint64()))
	return *u
}

// Reset forgets the peaks, after a collection so that the garbage of one measurement is not the next one's.
func (m *Meter) Reset() {
	runtime.GC()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.usage = Usage{}
}
