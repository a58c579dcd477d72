package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/pprof"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/debug"
	"github.com/spillway-go/spillway/admission/promadmission"
	"github.com/spillway-go/spillway/examples/internal/meter"
	"github.com/spillway-go/spillway/examples/shedcurve/orders"
)

// usage is what the service has used.
type usage struct {
	meter.Usage
	Inflight   int64    `json:"inflight"` // requests inside, admitted or not
	CPUSeconds *float64 `json:"cpu_s"`    // since the process began; nil where the system does not say
}

// serviceMeter watches the process that it runs in and the requests inside it.
type serviceMeter struct {
	*meter.Meter
	inflight atomic.Int64
}

func newMeter() *serviceMeter { return &serviceMeter{Meter: meter.New()} }

func (m *serviceMeter) stop() { m.Stop() }

func (m *serviceMeter) usage() usage { return usage{m.Sample(), m.inflight.Load(), cpuSeconds()} }

// count is middleware that counts the requests inside.
func (m *serviceMeter) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.inflight.Add(1)
		defer m.inflight.Add(-1)
		next.ServeHTTP(w, r)
	})
}

// idle waits until no request is inside.
func (m *serviceMeter) idle(ctx context.Context) error {
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
// its data, what Spillway decides, as figures, as a page and for Prometheus (ctrl may be nil), and Go's profiles.
func adminHandler(m *serviceMeter, g *gauge, store *orders.Store, ctrl *admission.Controller) (http.Handler, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /usage", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, m.usage()) })
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
		m.Reset()
		g.reset()
		writeJSON(w, m.usage())
	})
	if ctrl != nil {
		registry := prometheus.NewRegistry()
		if err := promadmission.Register(registry, ctrl, promadmission.WithTopTenants(10)); err != nil {
			return nil, err
		}
		mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
		mux.HandleFunc("GET /admission", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, admissionNow(ctrl)) })
		mux.Handle("GET /debug/admission", debug.Handler(ctrl))
	}
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux, nil
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}
