package codel_test

import (
	"fmt"
	"time"

	"github.com/spillway-go/spillway/codel"
)

// A request of each kind waits; one expires, and the rest are served by tier.
func Example() {
	cfg := codel.Config{Capacity: 100}
	if err := cfg.Validate(); err != nil {
		fmt.Println(err)
		return
	}
	q := codel.New[string](cfg)

	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, r := range []struct {
		name     string
		tier     int
		deadline time.Duration
	}{
		{"report", 5, 3 * time.Second},
		{"order", 1, 300 * time.Millisecond},
		{"login", 0, 3 * time.Second},
	} {
		const u = 0.5 // draw it from a random source, for jitter
		allowance := cfg.Allow(r.deadline, q.Mode() == codel.LIFO, u)
		q.Push(now, &codel.Item[string]{Value: r.name, Tier: r.tier, Allowance: allowance})
	}

	now = now.Add(150 * time.Millisecond)
	for it := q.Expire(now); it != nil; it = q.Expire(now) {
		fmt.Println("shed", it.Value)
	}
	for it := q.Pop(now); it != nil; it = q.Pop(now) {
		fmt.Println("serve", it.Value, "after", it.Sojourn(now))
	}
	// Output:
	// shed order
	// serve login after 150ms
	// serve report after 150ms
}

// Under law "codel" a standing queue gets a short allowance.
func ExampleConfig_Allow() {
	cfg := codel.Config{Law: codel.LawCoDel}
	fmt.Println(cfg.Allow(time.Second, false, 0.5))
	fmt.Println(cfg.Allow(time.Second, true, 0.5))
	// Output:
	// 100ms
	// 5ms
}
