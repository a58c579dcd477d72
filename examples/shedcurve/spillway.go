package main

import (
	"context"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/examples/shedcurve/orders"
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

// defaultConfig is that of the controller that makes the difference between the arms. All but the lanes and the caps is
// default, and the lanes' limit where it is not 0: then each is pinned there.
func defaultConfig(limit int) admission.Config {
	lane := admission.LaneConfig{Limit: admission.LimitConfig{Fixed: limit}}
	return admission.Config{
		// Reads and writes wait for different things, so each has its own limit.
		Lanes:     map[string]admission.LaneConfig{"read": lane, "write": lane},
		Scorecard: admission.ScorecardConfig{Rules: rules},
	}
}

// classify says what a request is from its method and path, before any routing. The header X-Tenant is believed
// because only the load generator can reach this service.
func classify(r *http.Request) admission.Request {
	req, tier := admission.Request{Lane: "read"}, admission.T3
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
	return ofTenant(req, tier, r.Header.Get("X-Tenant"))
}

// classifyCall is classify for gRPC.
func classifyCall(ctx context.Context, method string, _ any) admission.Request {
	req, tier := admission.Request{Lane: "read"}, admission.T3
	switch method {
	case orders.MethodPlace:
		req.Lane, tier = "write", admission.T1
	case orders.MethodOrder:
		tier = admission.T1
	case orders.MethodHistory:
		tier = admission.T2
	case orders.MethodTop:
		tier = admission.T5
	}
	tenant := ""
	if v := metadata.ValueFromIncomingContext(ctx, "x-tenant"); len(v) > 0 {
		tenant = v[0]
	}
	return ofTenant(req, tier, tenant)
}

func ofTenant(req admission.Request, tier admission.Tier, tenant string) admission.Request {
	req.Tenant = tenant
	req.Priority = admission.NewPriority(tier, admission.CohortOf(tenant, time.Now()))
	return req
}
