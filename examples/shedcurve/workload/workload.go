package workload

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/spillway-go/spillway/examples/shedcurve/load"
	"github.com/spillway-go/spillway/examples/shedcurve/orders"
)

// Tenants share the service. One of them, the last, is noisy: it exports, so that it asks only for lists and
// reports, and of those it asks for ten times what each of the others does.
const (
	Tenants     = 40
	NoisyTenant = "noisy"
	NoisyFactor = 10

	draftLines = 5 // of an order that is placed
)

// Requests is what the order service is asked for. The kinds cost about the same, so t1 is about a third
// of the requests and of the work: at twice the capacity all of it fits.
func Requests(s orders.Sizes) []load.Class {
	return append(Pages(s, QuietTenant), Exports(s, anyTenant)...)
}

// Pages are what users wait for.
func Pages(s orders.Sizes, tenant func(*rand.Rand) string) []load.Class {
	return []load.Class{
		{Name: "GET /orders/{id}", Weight: 25, Tier: "t1", Make: func(r *rand.Rand) load.Request {
			return load.Request{Method: "GET", Path: fmt.Sprintf("/orders/%d", 1+r.IntN(s.Orders)), Tenant: tenant(r)}
		}},
		{Name: "POST /orders", Weight: 10, Tier: "t1", Make: func(r *rand.Rand) load.Request {
			return load.Request{Method: "POST", Path: "/orders", Body: draft(s, r), Tenant: tenant(r)}
		}},
	}
}

// Exports are what an export asks for, and users now and then.
func Exports(s orders.Sizes, tenant func(*rand.Rand) string) []load.Class {
	return []load.Class{
		{Name: "GET /customers/{id}/orders", Weight: 45, Tier: "t2", Make: func(r *rand.Rand) load.Request {
			return load.Request{Method: "GET", Path: fmt.Sprintf("/customers/%d/orders", 1+r.IntN(s.Customers)), Tenant: tenant(r)}
		}},
		{Name: "GET /reports/top", Weight: 20, Tier: "t5", Make: func(r *rand.Rand) load.Request {
			return load.Request{Method: "GET", Path: "/reports/top", Tenant: tenant(r)}
		}},
	}
}

// OverGRPC turns requests into the calls that are the same over gRPC.
func OverGRPC(classes []load.Class) []load.Class {
	for i, c := range classes {
		classes[i].Make = func(r *rand.Rand) load.Request { return callOf(c.Make(r)) }
	}
	return classes
}

func callOf(r load.Request) load.Request {
	call := load.Request{Tenant: r.Tenant}
	path := strings.Split(r.Path, "/") // what is before the first slash is empty
	switch {
	case r.Method == "POST":
		call.Method, call.Body = orders.MethodPlace, r.Body
	case path[1] == "orders":
		call.Method, call.Body = orders.MethodOrder, path[2]
	case path[1] == "customers":
		call.Method, call.Body = orders.MethodHistory, path[2]
	default:
		call.Method = orders.MethodTop
	}
	return call
}

func draft(s orders.Sizes, r *rand.Rand) string {
	d := orders.Draft{Customer: 1 + r.IntN(s.Customers)}
	for range draftLines {
		d.Lines = append(d.Lines, orders.DraftLine{Product: 1 + r.IntN(s.Products), Quantity: 1 + r.IntN(3)})
	}
	text, err := json.Marshal(d)
	if err != nil {
		panic(err) // of integers alone: cannot be
	}
	return string(text)
}

// QuietTenant draws one of those that are not noisy.
func QuietTenant(r *rand.Rand) string { return fmt.Sprintf("tenant-%02d", 1+r.IntN(Tenants-1)) }

func anyTenant(r *rand.Rand) string {
	if r.IntN(Tenants-1+NoisyFactor) < NoisyFactor {
		return NoisyTenant
	}
	return QuietTenant(r)
}
