package service

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/spillway-go/spillway/examples/internal/meter"
)

// Usage is what the service has used.
type Usage struct {
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

func (m *serviceMeter) usage() Usage { return Usage{m.Sample(), m.inflight.Load(), CPUSeconds()} }

// count is middleware that counts the requests inside.
func (m *serviceMeter) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.inflight.Add(1)
		defer m.inflight.Add(-1)
		next.ServeHTTP(w, r)
	})
}

// countCalls is an interceptor that counts the calls inside.
func (m *serviceMeter) countCalls(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	m.inflight.Add(1)
	defer m.inflight.Add(-1)
	return handler(ctx, req)
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
