package orders

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkKinds is what the load test's kinds of request cost beside each
// other: they should differ little, or a count of requests is no measure of work.
func BenchmarkKinds(b *testing.B) {
	path := b.TempDir() + "/orders.db"
	if err := Create(b.Context(), path, Orders); err != nil {
		b.Fatal(err)
	}
	s, err := Open(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	r := rand.New(rand.NewPCG(1, 1))
	for _, kind := range []struct {
		name string
		ask  func() error
	}{
		{"order", func() error { _, err := s.Order(b.Context(), 1+r.IntN(Orders)); return err }},
		{"history", func() error { _, err := s.History(b.Context(), 1+r.IntN(Customers)); return err }},
		{"place", func() error {
			_, _, err := s.Place(b.Context(), Draft{Customer: 1 + r.IntN(Customers), Lines: []DraftLine{{1 + r.IntN(Products), 1}, {1 + r.IntN(Products), 2}, {1 + r.IntN(Products), 1}}})
			return err
		}},
		{"report", func() error { _, err := s.Top(b.Context(), latestOrders); return err }},
		{"gauge", func() error { _, err := s.Gauge(b.Context()); return err }},
	} {
		b.Run(kind.name, func(b *testing.B) {
			for b.Loop() {
				if err := kind.ask(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
