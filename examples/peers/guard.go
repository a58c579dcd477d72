package main

import (
	"context"
	"errors"
	"net/http"

	"github.com/spillway-go/spillway/examples/shedcurve/workload"
)

// guard is a limiter as middleware, the same for all. What is refused is told to come back: 503 and Retry-After.
func guard(l limiter) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			admitted := l.do(r.Context(), requestOf(r), func(ctx context.Context) error {
				said := &status{ResponseWriter: w}
				next.ServeHTTP(said, r.WithContext(ctx))
				return errors.Join(ctx.Err(), said.failure())
			})
			if !admitted {
				w.Header().Set("Retry-After", "1")
				http.Error(w, "overloaded", http.StatusServiceUnavailable)
			}
		})
	}
}

// requestOf is what the service takes a request for.
func requestOf(r *http.Request) *request {
	c := workload.Classify(r)
	return &request{tier: int(c.Priority.Tier()), cohort: c.Priority.Cohort(), tenant: c.Tenant}
}

// status remembers that of an answer.
type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

var errAnswer = errors.New("the service answered with an error of its own")

// failure is what limiters are to know of: such an answer is a sign of overload, as a deadline is.
func (s *status) failure() error {
	if s.code >= http.StatusInternalServerError {
		return errAnswer
	}
	return nil
}
