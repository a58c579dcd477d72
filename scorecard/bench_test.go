package scorecard

import (
	"strconv"
	"sync"
	"testing"
)

// tenRules are in two groups: tenants, with exceptions, and tenants by
// operation.
var tenRules = []string{
	"acme: tenant:acme = 400",
	"globex: tenant:globex = 300 / 100",
	"initech: tenant:initech = 200",
	"hooli: tenant:hooli = 50%",
	"free: tenant:free-* = 5 / 1",
	"trial: tenant:trial-* = 10",
	"tenants: tenant:* = 100 / 20",
	"acme-writes: tenant:acme;op:write = 100",
	"writes: tenant:*;op:write = 20 / 5",
	"scans: tenant:*;op:scan = 2",
}

// eightTags are a request as admission makes it; both groups count it.
func eightTags(tenant string) []Tag {
	return []Tag{
		{"tenant", tenant},
		{"caller", "checkout"},
		{"op", "write"},
		{"lane", "write"},
		{"tier", "t1"},
		{"key", "order-4711"},
		{"region", "eu"},
		{"version", "42"},
	}
}

func BenchmarkAcquireRelease(b *testing.B) {
	for _, tenant := range []string{"acme", "umbrella", "free-4711"} {
		b.Run("rules=10/tenant="+tenant, func(b *testing.B) {
			c := card(b, tenRules...)
			tags := eightTags(tenant)
			b.ReportAllocs()
			for b.Loop() {
				h, err := c.Acquire(tags)
				if err != nil {
					b.Fatal(err)
				}
				h.Release()
			}
		})
	}
	b.Run("rules=0", func(b *testing.B) {
		c := card(b)
		tags := eightTags("acme")
		for b.Loop() {
			h, _ := c.Acquire(tags)
			h.Release()
		}
	})
	// What the two lockings alone cost, to read the others against.
	b.Run("bare-mutex", func(b *testing.B) {
		var mu sync.Mutex
		held := 0
		for b.Loop() {
			mu.Lock()
			held++
			mu.Unlock()
			mu.Lock()
			held--
			mu.Unlock()
		}
	})
}

func BenchmarkRefuse(b *testing.B) {
	c := card(b, tenRules...)
	tags := eightTags("umbrella")
	for range 20 {
		if _, err := c.Acquire(tags); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Acquire(tags); err == nil {
			b.Fatal("admitted over the cap")
		}
	}
}

// BenchmarkExceptions shows that a request does not pay for the number of
// rules without a star.
func BenchmarkExceptions(b *testing.B) {
	for _, n := range []int{1, 1000} {
		b.Run("rules="+strconv.Itoa(n), func(b *testing.B) {
			var rules []string
			for i := range n {
				rules = append(rules, "r"+strconv.Itoa(i)+": tenant:t"+strconv.Itoa(i)+" = 10")
			}
			c := card(b, append(rules, "all: tenant:* = 10")...)
			tags := eightTags("t0")
			for b.Loop() {
				h, _ := c.Acquire(tags)
				h.Release()
			}
		})
	}
}

// BenchmarkNames draws tenants from an array of a million strings, of which a
// hundred or all differ; memory is walked alike in both arms.
func BenchmarkNames(b *testing.B) {
	for _, distinct := range []int{100, 1 << 20} {
		b.Run("distinct="+strconv.Itoa(distinct), func(b *testing.B) {
			names := make([]string, 1<<20)
			for i := range names {
				names[i] = "tenant-" + strconv.Itoa(1<<20+i%distinct)
			}
			c := card(b, "tenants: tenant:* = 10")
			tags := eightTags("")
			i := uint32(0)
			for b.Loop() {
				i = i*1664525 + 1013904223 // a full-period walk without pattern
				tags[0].Value = names[i>>12]
				h, _ := c.Acquire(tags)
				h.Release()
			}
		})
	}
}
