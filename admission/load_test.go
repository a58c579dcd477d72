package admission

import (
	"context"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// serve runs requests of a lane at so many per second for a while, each of them for so long; those shed are dropped.
func serve(c *Controller, r Request, perSecond int, service, length time.Duration) {
	var wg sync.WaitGroup
	for range int(length.Seconds() * float64(perSecond)) {
		time.Sleep(time.Second / time.Duration(perSecond))
		c.LoadReport() // as somebody does per request
		wg.Go(func() {
			if t, err := c.Admit(context.Background(), r); err == nil {
				time.Sleep(service)
				t.Release(Success)
			}
		})
	}
	wg.Wait()
}

func wantLoad(t *testing.T, when string, got LoadReport, qps, u, within float64) {
	t.Helper()
	if math.Abs(got.QPS-qps) > within*qps || math.Abs(got.Utilization-u) > within*u {
		t.Errorf("%s: %+v, want %v per second and a utilization of %v within %v %%", when, got, qps, u, 100*within)
	}
}

func TestLoadReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewQuiet(t, Config{Lanes: map[string]LaneConfig{
			"default": {Limit: LimitConfig{Fixed: 10}}, "other": {Limit: LimitConfig{Fixed: 100}},
		}})
		if r := c.LoadReport(); r.QPS != 0 || r.EPS != 0 || !(r.Utilization > 0) {
			t.Errorf("at the start: %+v", r)
		}
		// By Little's law 50 a second for 40 ms each keep 2 of 10 slots busy.
		serve(c, Request{}, 50, 40*time.Millisecond, 5*time.Second)
		wantLoad(t, "calm", c.LoadReport(), 50, 0.2, 0.1)
		// The fullest lane counts, and the requests of all.
		serve(c, Request{Lane: "other"}, 100, 10*time.Millisecond, 10*time.Second)
		wantLoad(t, "other lane", c.LoadReport(), 100, 0.01, 0.1)

		// 10 slots and 40 ms: 250 a second of 1,000.
		serve(c, Request{}, 1000, 40*time.Millisecond, 5*time.Second)
		r := c.LoadReport()
		if r.Utilization < 3 || r.Utilization > 5 || math.Abs(r.QPS-1000) > 100 || math.Abs(r.EPS-750) > 100 {
			t.Errorf("at four times the capacity: %+v", r)
		}

		// Nobody has asked for long: the report is that of all the time since.
		time.Sleep(loadPeriod)
		c.LoadReport() // of the last of the load
		time.Sleep(time.Hour)
		if r := c.LoadReport(); r.Utilization > 0.1 || r.Utilization == 0 || r.EPS > 1 {
			t.Errorf("after an hour of nothing: %+v", r)
		}
	})
}

func TestLoadReportOfOneClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewQuiet(t, Pinned(10, 10))
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		serve(c, Request{}, 100, 0, time.Second)
		if r := c.LoadReport(); r.Utilization <= 1 || r.EPS != r.QPS || r.QPS == 0 {
			t.Errorf("a closed controller sheds all: %+v", r)
		}
		if r := (*Controller)(nil).LoadReport(); r != noLoad {
			t.Errorf("no controller: %+v", r)
		}
	})
}

// Between renewals the report stays, and to ask for it allocates nothing.
func TestLoadReportIsRenewedNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewQuiet(t, Pinned(10, 10))
		ticket := hold(t, c, Request{})
		time.Sleep(loadPeriod - 1)
		first := c.LoadReport()
		if first != noLoad {
			t.Errorf("before the first renewal: %+v", first)
		}
		time.Sleep(time.Nanosecond)
		second := c.LoadReport()
		if second.Utilization < 0.099 || second.Utilization > 0.101 {
			t.Errorf("one of ten slots was taken all the time: %+v", second)
		}
		ticket.Release(Success)
		if n := testing.AllocsPerRun(100, func() { c.LoadReport() }); n != 0 {
			t.Errorf("%v allocations between renewals", n)
		}
		c.load.mu.Lock() // somebody is renewing it
		time.Sleep(time.Second)
		if r := c.LoadReport(); r != second {
			t.Errorf("%+v while it is being renewed, want the last one, %+v", r, second)
		}
		c.load.mu.Unlock()
		if r := c.LoadReport(); r == second {
			t.Error("not renewed")
		}
	})
}

func BenchmarkLoadReport(b *testing.B) {
	c := NewQuiet(b, Config{})
	for b.Loop() {
		c.LoadReport()
	}
}
