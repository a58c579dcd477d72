package scorecard

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestConcurrent: a thousand goroutines of twenty tenants start together, while
// rules, limits and pressure change and the Card is swept and read. Nobody ever
// sees more at once than its tenant's cap.
func TestConcurrent(t *testing.T) {
	const tenants, tenantCap, writeCap = 20, 3, 10
	rules := parsed(t, "t: tenant:* = 3 / 2", "w: op:write = 10")
	c, err := New(rules...)
	if err != nil {
		t.Fatal(err)
	}
	var (
		running  [tenants]atomic.Int32
		writes   atomic.Int32
		admitted atomic.Int64
		start    = make(chan struct{})
		wg       sync.WaitGroup
	)
	for i := range 1000 {
		tenant := i % tenants
		tags := []Tag{{"tenant", fmt.Sprint("tenant-", tenant)}, {"op", "write"}}
		wg.Go(func() {
			<-start
			for range 50 {
				h, err := c.Acquire(tags)
				if err != nil {
					continue
				}
				admitted.Add(1)
				if n := running[tenant].Add(1); n > tenantCap {
					t.Errorf("%d of tenant %d at once", n, tenant)
				}
				if n := writes.Add(1); n > writeCap {
					t.Errorf("%d writes at once", n)
				}
				running[tenant].Add(-1)
				writes.Add(-1)
				// Releasing twice, from two goroutines, counts once.
				var twice sync.WaitGroup
				twice.Go(h.Release)
				h.Release()
				twice.Wait()
			}
		})
	}
	wg.Go(func() {
		<-start
		for i := range 200 {
			if err := c.SetRules(append(rules, Rule{Name: "x", Match: "key:*"})[:2+i%2]...); err != nil {
				t.Error(err)
			}
			c.SetPressed(i%2 == 0)
			c.SetLimit("default", i)
			c.SetMaxTenants(tenants + i)
			c.Sweep(t0.Add(time.Duration(i)))
			for _, n := range c.Counts() {
				if n.Held < 0 || n.Rule == "w" && n.Held > writeCap {
					t.Errorf("read %+v", n)
				}
			}
			c.Top(3)
		}
	})
	close(start)
	wg.Wait()
	if n := c.Counts(); n[0].Admitted != uint64(admitted.Load()) || n[0].Admitted != n[1].Admitted {
		t.Errorf("admitted %d, counted %+v", admitted.Load(), n)
	}
	checkQuiet(t, c)
}
