package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/spillway-go/spillway/examples/shedcurve/load"
	"github.com/spillway-go/spillway/examples/shedcurve/orders"
)

// tenants share the service. One of them, the last, is noisy: it exports, so that it asks only for lists and
// reports, and of those it asks for ten times what each of the others does.
const (
	tenants     = 40
	noisyTenant = "noisy"
	noisyFactor = 10
)

// orderRequests is what the order service is asked for. The kinds cost about the same, so t1 is about a third
// of the requests and of the work: at twice the capacity all of it fits.
func orderRequests() []load.Class {
	return []load.Class{
		{Name: "GET /orders/{id}", Weight: 25, Tier: "t1", Make: func(r *rand.Rand) load.Request {
			return load.Request{Method: "GET", Path: fmt.Sprintf("/orders/%d", 1+r.IntN(orders.Orders)), Tenant: quietTenant(r)}
		}},
		{Name: "POST /orders", Weight: 10, Tier: "t1", Make: func(r *rand.Rand) load.Request {
			return load.Request{Method: "POST", Path: "/orders", Body: draft(r), Tenant: quietTenant(r)}
		}},
		{Name: "GET /customers/{id}/orders", Weight: 45, Tier: "t2", Make: func(r *rand.Rand) load.Request {
			return load.Request{Method: "GET", Path: fmt.Sprintf("/customers/%d/orders", 1+r.IntN(orders.Customers)), Tenant: anyTenant(r)}
		}},
		{Name: "GET /reports/top", Weight: 20, Tier: "t5", Make: func(r *rand.Rand) load.Request {
			return load.Request{Method: "GET", Path: "/reports/top", Tenant: anyTenant(r)}
		}},
	}
}

func draft(r *rand.Rand) string {
	product := func() int { return 1 + r.IntN(orders.Products) }
	return fmt.Sprintf(`{"customer":%d,"lines":[{"product":%d,"quantity":1},{"product":%d,"quantity":2},{"product":%d,"quantity":1}]}`,
		1+r.IntN(orders.Customers), product(), product(), product())
}

func quietTenant(r *rand.Rand) string { return fmt.Sprintf("tenant-%02d", 1+r.IntN(tenants-1)) }

func anyTenant(r *rand.Rand) string {
	if r.IntN(tenants-1+noisyFactor) < noisyFactor {
		return noisyTenant
	}
	return quietTenant(r)
}
