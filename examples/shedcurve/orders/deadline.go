package orders

import (
	"context"
	"net/http"
	"time"
)

// DeadlineHeader says how long the client will wait from now, with a unit: "250ms".
const DeadlineHeader = "X-Request-Timeout"

const maxDeadline = time.Minute // a longer wish is cut to this

// WithDeadline gives each request's context the deadline that its client asked for. It stands outside of all
// else, so that a service with and one without overload protection learn of the deadline in the same way.
// A header that is missing leaves the context as it is; one that is no positive duration is answered with 400.
func WithDeadline(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := r.Header.Get(DeadlineHeader)
		if h == "" {
			next.ServeHTTP(w, r)
			return
		}
		d, err := time.ParseDuration(h)
		if err != nil || d <= 0 {
			http.Error(w, DeadlineHeader+": must be a positive duration with a unit, such as 250ms", http.StatusBadRequest)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), min(d, maxDeadline))
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
