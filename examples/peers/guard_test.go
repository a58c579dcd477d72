package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

// told is a limiter that admits or not, and remembers what it is told.
type told struct {
	admits bool
	r      *request
	err    error
}

func (l *told) do(ctx context.Context, r *request, work func(context.Context) error) bool {
	l.r = r
	if l.admits {
		l.err = work(ctx)
	}
	return l.admits
}

func (*told) close() {}

func TestGuard(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name         string
		admits       bool
		ctx          context.Context
		answer, want int
		err          error
	}{
		{"served", true, t.Context(), 200, 200, nil},
		{"wrongly asked", true, t.Context(), 404, 404, nil},
		{"failed", true, t.Context(), 500, 500, errAnswer},
		{"too late", true, gone, 504, 504, context.Canceled},
		{"refused", false, t.Context(), 200, 503, nil},
	} {
		l := &told{admits: tt.admits}
		h := guard(l)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(tt.answer) }))
		r := httptest.NewRequestWithContext(tt.ctx, "GET", "/reports/top", nil)
		r.Header.Set("X-Tenant", "acme")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != tt.want || (w.Header().Get("Retry-After") != "") == tt.admits {
			t.Errorf("%s: status %d, header %v", tt.name, w.Code, w.Header())
		}
		if !errors.Is(l.err, tt.err) {
			t.Errorf("%s: the limiter is told %v, want %v", tt.name, l.err, tt.err)
		}
		if l.r.tier != 5 || l.r.tenant != "acme" {
			t.Errorf("%s: taken for %+v, want tier 5 of acme", tt.name, l.r)
		}
	}
}
