package scorecard

import (
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"
)

// BenchmarkWaits is what changes, sweeps and looks at a Card of 100,000 tenants do to a
// client who takes its lock every five microseconds: how long he waits at most, and how
// often he gets it in a millisecond, in the median of b.N times. It needs two idle
// processors.
func BenchmarkWaits(b *testing.B) {
	const tenants = 100_000
	fewer := parsed(b, "b: op:* = 9")
	both := append(parsed(b, "a: tenant:* = 9"), fewer...)
	for _, bench := range []struct {
		name string
		do   func(c *Card)
	}{
		{"nothing", func(*Card) { time.Sleep(5 * time.Millisecond) }},
		{"SetRules, all stay", func(c *Card) { _ = c.SetRules(both...) }},
		{"SetRules, one goes", func(c *Card) { _ = c.SetRules(fewer...) }},
		{"SetMaxTenants, twice", func(c *Card) { c.SetMaxTenants(2 * tenants) }},
		{"SetMaxTenants, a tenth", func(c *Card) { c.SetMaxTenants(tenants / 10) }},
		{"Sweep", func(c *Card) { c.Sweep(t0.Add(1)) }},
		{"Snapshot", func(c *Card) { c.Snapshot(20) }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			var longest, took, often []float64
			for range min(b.N, 9) { // each fills a table; a median needs no more
				c, err := New(both...)
				if err != nil {
					b.Fatal(err)
				}
				c.SetMaxTenants(tenants)
				c.Sweep(t0)
				for i := range tenants {
					release(hold(b, c, "tenant:tenant-"+strconv.Itoa(i), 1))
				}
				runtime.GC() // not while it is measured
				stop := client(c)
				began := time.Now()
				bench.do(c)
				d := time.Since(began)
				n, most := stop()
				took = append(took, float64(d.Microseconds()))
				longest = append(longest, float64(most.Nanoseconds())/1e3)
				often = append(often, float64(n)/(float64(d)/float64(time.Millisecond)))
			}
			for unit, all := range map[string][]float64{"us-wait": longest, "us": took, "times/ms": often} {
				slices.Sort(all)
				b.ReportMetric(all[len(all)/2], unit)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// client takes the lock until the returned function is called, which tells how often
// he had it and for what he waited longest.
func client(c *Card) (stop func() (n int, longest time.Duration)) {
	done, gone, begun := make(chan struct{}), make(chan struct{}), make(chan struct{})
	n, longest := 0, time.Duration(0)
	go func() {
		defer close(gone)
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			if i == 1000 {
				n, longest = 0, 0
				close(begun)
			}
			for range 15_000 {
			}
			began := time.Now()
			c.Lock()
			n++
			c.Unlock()
			longest = max(longest, time.Since(began))
		}
	}()
	<-begun
	return func() (int, time.Duration) { close(done); <-gone; return n, longest }
}
