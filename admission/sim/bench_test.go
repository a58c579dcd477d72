package sim

import (
	"testing"

	"github.com/spillway-go/spillway/admission"
)

// BenchmarkRun simulates twice what a back end can do; its metric is attempts
// per second of real time.
func BenchmarkRun(b *testing.B) {
	for _, c := range []struct {
		name    string
		station Station
	}{
		{"fifo", Station{Servers: 50, Dist: Dist{Kind: "exp", MeanMS: 10}}},
		{"sharing", Station{Cores: 50, Dist: Dist{Kind: "exp", MeanMS: 10}}},
	} {
		s := Scenario{
			Name: c.name, DurationS: 20, CapacityRPS: 5000, Seed: 1, Backend: []Station{c.station},
			Load: Arrivals{Points: []Point{{0, 2}}}, Client: Client{DeadlineMS: 70},
			TierMix: []float64{0.02, 0.28, 0.25, 0.2, 0.15, 0.1},
		}
		for _, f := range []Front{Full, Lab} {
			b.Run(c.name+"/"+f.String(), func(b *testing.B) {
				b.ReportAllocs()
				attempts := uint64(0)
				for b.Loop() {
					r, err := f.Run(admission.Config{}, s)
					if err != nil {
						b.Fatal(err)
					}
					attempts += r.Attempts
				}
				b.ReportMetric(float64(attempts)/b.Elapsed().Seconds(), "requests/s")
			})
		}
	}
}
