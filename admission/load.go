package admission

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/admission/internal/core"
)

// LoadReport is how loaded a controller is, in the terms of ORCA (Open Request
// Cost Aggregation), for clients and proxies that send more to replicas that
// can do more: gRPC's weighted_round_robin (gRFC A58) and Envoy's.
type LoadReport struct {
	// Utilization is the demand on the fullest lane as a multiple of what it can
	// do: the share of its slots that is used, over the share of its requests
	// that is admitted. Above 1 while it sheds, at most 100 times as much as is
	// admitted; never 0, which readers take for not known.
	Utilization float64
	// QPS is how many requests arrived per second, those shed included.
	QPS float64
	// EPS is how many of them per second were shed, or came out as Overload or
	// Failure.
	EPS float64
}

// loadPeriod is how old a load report may be. Readers take up weights about once
// a second.
const loadPeriod = 200 * time.Millisecond

// loadMeter holds a controller's last load report. It has no goroutine: whoever
// asks when the report is too old renews it.
type loadMeter struct {
	report  atomic.Pointer[LoadReport]
	renewed atomic.Int64 // when, since the controller's start; nanoseconds
	mu      sync.Mutex   // guards the lanes' meters; taken before all other locks
}

var noLoad = LoadReport{Utilization: (&core.Meter{}).Utilization()}

// LoadReport tells the load of about the last second, or of the time since
// somebody last asked, if that is longer. A report older than 0.2 s is renewed
// by whoever asks, which takes each lane's lock for a microsecond; all others
// read a clock and a pointer. So it may be called per request: it does not
// wait for a renewal under way, and allocates nothing but at a renewal.
//
// Requests shed by a cap or a keyed signal are in none of the numbers: they say
// nothing about this replica. Exempt requests are not counted, nor is anything
// in mode Off. QPS is 0 for a nil Controller and before there is anything to
// tell; clients take such a replica for an average one.
func (c *Controller) LoadReport() LoadReport {
	if c == nil {
		return noLoad
	}
	m, now := &c.load, c.now()
	if now-time.Duration(m.renewed.Load()) >= loadPeriod && m.mu.TryLock() {
		c.renewLoad(now)
		m.mu.Unlock()
	}
	if r := m.report.Load(); r != nil {
		return *r
	}
	return noLoad
}

// renewLoad takes a reading of every lane. The caller holds c.load.mu.
func (c *Controller) renewLoad(now time.Duration) {
	dt := now - time.Duration(c.load.renewed.Load())
	if dt < loadPeriod {
		return // somebody was faster
	}
	c.mu.Lock()
	lanes := c.mu.lanes
	c.mu.Unlock()
	r := noLoad
	for _, l := range lanes {
		l.mu.Lock()
		reading := l.mu.core.Reading(now)
		l.mu.Unlock()
		l.meter.Look(dt, reading)
		arrivals, errors := l.meter.Rates()
		r.QPS += arrivals
		r.EPS += errors
		demand := l.meter.Utilization()
		l.demand.Store(math.Float64bits(demand))
		r.Utilization = max(r.Utilization, demand)
	}
	c.load.report.Store(&r)
	c.load.renewed.Store(int64(now))
}
