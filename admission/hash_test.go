package admission

import (
	"fmt"
	"math"
	"testing"
)

// Whatever names a service gives its tenants and keys, the gate's hash spreads the
// requests evenly over its buckets, and so sheds the share that it means to.
func TestHashIsEven(t *testing.T) {
	const n, buckets = 1 << 16, 32
	for name, request := range map[string]func(int) Request{
		"numbers":         func(i int) Request { return Request{Tenant: "acme", Key: fmt.Sprint(i)} },
		"padded":          func(i int) Request { return Request{Tenant: "acme", Key: fmt.Sprintf("order-%012d", i)} },
		"number first":    func(i int) Request { return Request{Tenant: "acme", Key: fmt.Sprintf("%d-order", i)} },
		"number in front": func(i int) Request { return Request{Key: fmt.Sprintf("%08x-0000-4000-8000-000000000000", i)} },
		"in the middle":   func(i int) Request { return Request{Key: fmt.Sprintf("00000000-0000-%04x-8000-000000000000", i)} },
		"tenants":         func(i int) Request { return Request{Tenant: fmt.Sprint("tenant-", i), Key: "home"} },
		"binary":          func(i int) Request { return Request{Key: string([]byte{byte(i), byte(i >> 8)})} },
		"of both":         func(i int) Request { return Request{Tenant: fmt.Sprint(i % 256), Key: fmt.Sprint(i / 256)} },
	} {
		var upper, lower [buckets]int
		for i := range n {
			r := request(i)
			h := hashOf(&r)
			upper[h>>27]++
			lower[h%buckets]++
		}
		const mean = n / buckets
		for b := range buckets {
			for _, got := range []int{upper[b], lower[b]} {
				if off := math.Abs(float64(got-mean)) / math.Sqrt(mean); off > 5 {
					t.Errorf("%s: bucket %d has %d, which is %.1f sigma from %d", name, b, got, off, mean)
				}
			}
		}
	}
	// The same text shared out otherwise is another request.
	a, b := Request{Tenant: "ab", Key: "c"}, Request{Tenant: "a", Key: "bc"}
	if hashOf(&a) == hashOf(&b) {
		t.Error("tenant and key run into each other")
	}
}
