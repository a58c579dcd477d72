package main

import (
	"context"
	"net/http"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/examples/docstore/node"
	"github.com/spillway-go/spillway/httpmw"
)

// The arms: what stands before the node.
const (
	armBucket   = "token-bucket"
	armSpillway = "spillway"
)

const (
	// writeMargin is left of a client's deadline when its write has waited for the bucket as long as it may. Without it nearly
	// all that are let through in an overload would be at their deadline, and late: the queue is always as long as the
	// longest wait allowed.
	writeMargin = 250 * time.Millisecond

	lagPeriod = 50 * time.Millisecond // a lag of seconds builds up in one
)

// bucket is middleware in which writes wait for a token, perSecond of which come.
func bucket(next http.Handler, perSecond float64) http.Handler {
	tokens := rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond/20)))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && waitFor(r.Context(), tokens) != nil {
			http.Error(w, "too many writes", http.StatusServiceUnavailable)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// waitFor fails at once where the token would come too late.
func waitFor(ctx context.Context, tokens *rate.Limiter) error {
	if d, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, d.Add(-writeMargin))
		defer cancel()
	}
	return tokens.Wait(ctx)
}

// spillway returns the middleware and its controller, which the caller closes.
func spillway(l *node.Leader, lagBound float64) (func(http.Handler) http.Handler, *admission.Controller, error) {
	ctrl, err := admission.New(admission.Config{
		Lanes: map[string]admission.LaneConfig{"read": {}, "write": {}},
		Regulators: map[string]admission.RegulatorConfig{
			// More P than usual, as a lag piles up; and more I than that asks for, as the signal looks ahead.
			"follower-lag": {Lanes: []string{"write"}, Period: lagPeriod, KP: 1, KI: 1},
		},
	}, admission.WithSignal("follower-lag", &lagSignal{lag: l.Lag, bound: lagBound}))
	if err != nil {
		return nil, nil, err
	}
	return httpmw.New(ctrl, httpmw.Config{Classify: classify}), ctrl, nil
}

// classify believes the headers, because only the load generator can reach this node.
func classify(r *http.Request) admission.Request {
	req := admission.Request{Lane: "read", Op: "GET /kv/{key}", Tenant: r.Header.Get("X-Tenant")}
	if r.Method == http.MethodPut {
		req.Lane, req.Op = "write", "PUT /kv/{key}"
	}
	tier := admission.T3
	if h := r.Header.Get(tierHeader); len(h) == 2 && strings.Contains("012345", h[1:]) {
		tier = admission.Tier(h[1] - '0')
	}
	req.Priority = admission.NewPriority(tier, admission.CohortOf(req.Tenant, time.Now()))
	return req
}
