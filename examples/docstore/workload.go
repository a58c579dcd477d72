package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"

	"github.com/spillway-go/spillway/examples/shedcurve/load"
)

const (
	tierHeader = "X-Tier"
	keys       = 4096
	valueSize  = 1 << 10
	bulkSize   = 32 << 10
	bulkShare  = 0.01 // of the writes: some 100 pages/s of the follower's 1,200
	hotShare   = 0.5  // of the requests
)

// tiers are the shares of the writes: t0 and t1 together are a third of what the follower applies during a sweep, so
// nobody need shed them.
var tiers = []struct {
	name  string
	share float64
}{{"t0", 0.02}, {"t1", 0.06}, {"t2", 0.15}, {"t3", 0.25}, {"t4", 0.2}, {"t5", 0.32}}

func keyName(i int) string { return fmt.Sprintf("key-%05d", i) }

// requests is the mix of all tiers with one method.
func requests(method string, hot, bulk bool) (*load.Mix, error) {
	body := ""
	if method == http.MethodPut {
		body = strings.Repeat("v", valueSize)
	}
	var classes []load.Class
	for _, t := range tiers {
		classes = append(classes, class(method, t.name, t.share, body, hot, func(r *rand.Rand) string {
			return fmt.Sprintf("tenant-%02d", r.IntN(40))
		}))
	}
	if bulk && method == http.MethodPut {
		classes = append(classes, class(method, "t5", bulkShare, strings.Repeat("v", bulkSize), false, func(*rand.Rand) string {
			return "bulk-loader"
		}))
	}
	return load.NewMix(classes...)
}

func class(method, tier string, weight float64, body string, hot bool, tenant func(*rand.Rand) string) load.Class {
	return load.Class{
		Name: method + " " + tier, Weight: weight, Tier: tier,
		Make: func(r *rand.Rand) load.Request {
			key := r.IntN(keys)
			if hot && r.Float64() < hotShare {
				key = 0
			}
			value := body
			if body != "" { // so that no two writes are the same
				value = fmt.Sprintf("%016x%s", r.Uint64(), body[16:])
			}
			return load.Request{
				Method: method, Path: "/kv/" + keyName(key), Body: value, Tenant: tenant(r),
				Header: map[string]string{tierHeader: tier},
			}
		},
	}
}
