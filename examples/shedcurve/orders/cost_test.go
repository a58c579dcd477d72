package orders

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// BenchmarkKinds is what the load test's kinds of request cost beside each
// other: they should differ little, or a count of requests is no measure of work.
// Nor should it matter that others write meanwhile.
func BenchmarkKinds(b *testing.B) {
	path := b.TempDir() + "/orders.db"
	if err := Create(b.Context(), path, SizesOf(trialCustomers)); err != nil {
		b.Fatal(err)
	}
	s, err := Open(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	kinds := s.kinds(b.Context(), rand.New(rand.NewPCG(1, 1)))
	kinds["gauge"] = func() error { _, err := s.Gauge(b.Context()); return err }
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := kinds[name](); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+" between writes", func(b *testing.B) {
			var took time.Duration
			for b.Loop() {
				conn, err := s.db.Conn(b.Context()) // so that another one writes
				if err != nil {
					b.Fatal(err)
				}
				err = kinds["place"]()
				conn.Close()
				start := time.Now()
				if err != nil || kinds[name]() != nil {
					b.Fatal(err)
				}
				took += time.Since(start)
			}
			b.ReportMetric(float64(took.Nanoseconds())/float64(b.N), "ns/one")
		})
	}
}
