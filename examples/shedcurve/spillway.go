package main

import (
	"net/http"
	"strings"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/httpmw"
	"github.com/spillway-go/spillway/scorecard"
)

// rules cap how many requests of one tenant may be inside at once, waiting or running. What an export asks for is
// capped low: a tenant whose users look at lists and reports has one of them inside now and then, also when
// the service is at its limit.
var rules = []scorecard.Rule{
	{Name: "reports", Match: "tenant:*;tier:t5", Cap: scorecard.Cap{N: 1}},
	{Name: "lists", Match: "tenant:*;tier:t2", Cap: scorecard.Cap{N: 2}},
	{Name: "tenant", Match: "tenant:*", Cap: scorecard.Cap{N: 8}},
}

// newSpillway returns the middleware that makes the difference between the arms, and the controller that it
// asks. All but the lanes and the caps is default, and the lanes' limit where it is not 0: then each is pinned there.
// The controller is the caller's to close.
func newSpillway(limit int) (func(http.Handler) http.Handler, *admission.Controller, error) {
	lane := admission.LaneConfig{Limit: admission.LimitConfig{Fixed: limit}}
	ctrl, err := admission.New(admission.Config{
		// Reads and writes wait for different things, so each has its own limit.
		Lanes:     map[string]admission.LaneConfig{"read": lane, "write": lane},
		Scorecard: admission.ScorecardConfig{Rules: rules},
	})
	if err != nil {
		return nil, nil, err
	}
	return httpmw.New(ctrl, httpmw.Config{Classify: classify}), ctrl, nil
}

// classify says what a request is from its method and path, before any routing. The header X-Tenant is believed
// because only the load generator can reach this service.
func classify(r *http.Request) admission.Request {
	req := admission.Request{Lane: "read", Tenant: r.Header.Get("X-Tenant")}
	tier := admission.T3
	switch path := r.URL.Path; {
	case r.Method == http.MethodPost:
		req.Lane, req.Op, tier = "write", "POST /orders", admission.T1
	case strings.HasPrefix(path, "/orders/"):
		req.Op, tier = "GET /orders/{id}", admission.T1
	case strings.HasPrefix(path, "/customers/"):
		req.Op, tier = "GET /customers/{id}/orders", admission.T2
	case strings.HasPrefix(path, "/reports/"):
		req.Op, tier = "GET /reports/top", admission.T5
	}
	req.Priority = admission.NewPriority(tier, admission.CohortOf(req.Tenant, time.Now()))
	return req
}
