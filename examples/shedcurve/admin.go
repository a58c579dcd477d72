package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/pprof"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/examples/shedcurve/orders"
)

// usage is what the service has used. Peaks are of samples since the last reset.
type usage struct {
	Inflight       int64    `json:"inflight"` // requests inside, admitted or not
	Goroutines     int      `json:"goroutines"`
	GoroutinesPeak int      `json:"goroutines_peak"`
	HeapPeakBytes  int64    `json:"heap_peak_bytes"` // Go's heap; SQLite's page cache is outside
	CPUSeconds     *float64 `json:"cpu_s"`           // since the process began; nil where the system does not say
}

const sampleEvery = 50 * time.Millisecond

// meter watches the process that it runs in.
type meter struct {
	inflight atomic.Int64
	quit     chan struct{}
	wg       sync.WaitGroup

	mu struct {
		sync.Mutex
		samples []metrics.Sample
		usage   usage
	}
}

func newMeter() *meter {
	m := &meter{quit: make(chan struct{})}
	m.mu.samples = []metrics.Sample{{Name: "/sched/goroutines:goroutines"}, {Name: "/memory/classes/heap/objects:bytes"}}
	m.wg.Go(func() {
		tick := time.NewTicker(sampleEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				m.sample()
			case <-m.quit:
				return
			}
		}
	})
	return m
}

func (m *meter) stop() {
	close(m.quit)
	m.wg.Wait()
}

func (m *meter) sample() usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	metrics.Read(m.mu.samples)
	u := &m.mu.usage
	u.Goroutines = int(m.mu.samples[0].Value.Uint64())
	u.GoroutinesPeak = max(u.GoroutinesPeak, u.Goroutines)
	u.HeapPeakBytes = max(u.HeapPeakBytes, int64(m.mu.samples[1].Value.Uint64()))
	u.Inflight = m.inflight.Load()
	u.CPUSeconds = cpuSeconds()
	return *u
}

// reset forgets the peaks, after a collection so that the garbage of one measurement is not the next one's.
func (m *meter) reset() {
	runtime.GC()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.usage = usage{}
}

// count is middleware that counts the requests inside.
func (m *meter) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.inflight.Add(1)
		defer m.inflight.Add(-1)
		next.ServeHTTP(w, r)
	})
}

// idle waits until no request is inside.
func (m *meter) idle(ctx context.Context) error {
	for m.inflight.Load() > 0 {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d requests are still inside: %w", m.inflight.Load(), context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

// adminHandler is for the parent and for the curious: what the service uses, how fast the machine is, a reset of
// its data, what Spillway decides (stats may be nil) and Go's profiles.
func adminHandler(m *meter, g *gauge, store *orders.Store, stats func() any) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /usage", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, m.sample()) })
	mux.HandleFunc("GET /speed", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, g.all()) })
	mux.HandleFunc("POST /reset", func(w http.ResponseWriter, r *http.Request) {
		err := m.idle(r.Context())
		if err == nil {
			err = store.Reset(r.Context())
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		m.reset()
		g.reset()
		writeJSON(w, m.sample())
	})
	if stats != nil {
		mux.HandleFunc("GET /admission", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, stats()) })
	}
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}
