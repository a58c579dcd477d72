package regulators_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/spillway-go/spillway/regulators"
)

func BenchmarkInflightBytes(b *testing.B) {
	benchmarkGuard(b, guard(b)(regulators.InflightBytes(1<<30)))
}

func BenchmarkHotKey(b *testing.B) { benchmarkGuard(b, guard(b)(regulators.HotKey(0.2, 10))) }

func BenchmarkRate(b *testing.B) {
	benchmarkGuard(b, guard(b)(regulators.Rate(regulators.RateConfig{PerSecond: 1e6})))
}

func benchmarkGuard(b *testing.B, g regulators.Guard) {
	var keys [1024]string
	for i := range keys {
		keys[i] = "tenant-" + strconv.Itoa(i)
	}
	now, i := epoch, 0
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(10 * time.Microsecond)
		key := keys[i%len(keys)]
		i++
		if g.Enter(now, key, 1) == nil {
			g.Exit(key, 1)
		}
	}
}
