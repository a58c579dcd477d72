package workload

import (
	"context"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/examples/shedcurve/orders"
)

// Classify says what a request is from its method and path, before any routing. The header X-Tenant is believed
// because only the load generator can reach this service.
func Classify(r *http.Request) admission.Request {
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

// ClassifyCall is Classify for gRPC.
func ClassifyCall(ctx context.Context, method string, _ any) admission.Request {
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
