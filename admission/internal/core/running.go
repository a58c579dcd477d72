package core

import (
	"time"

	"github.com/spillway-go/spillway/pid"
)

// running links the calls that hold slots, in no order that matters.
type running struct{ prev, next *Call }

func (l *Lane) start(c *Call) {
	l.account()
	l.inflight += c.Cost
	c.State, c.Started, c.inflight, c.late = Running, l.now, l.inflight, false
	c.run = running{next: l.runs}
	if l.runs != nil {
		l.runs.run.prev = c
	} else {
		l.runsLast = c
	}
	l.runs = c
	l.tick.out++
	l.tick.peak = max(l.tick.peak, l.inflight)
	l.count.Wait.Add(c.Waited())
	if c.overrun {
		c.overrun = false
		l.count.Overrun -= c.Cost
	} else {
		l.count.Tiers[c.Tier()].Admitted++
	}
}

// stop takes back the slots of a call that runs.
func (l *Lane) stop(c *Call) {
	l.account()
	l.inflight -= c.Cost
	if c.run.prev != nil {
		c.run.prev.run.next = c.run.next
	} else {
		l.runs = c.run.next
	}
	if c.run.next != nil {
		c.run.next.run.prev = c.run.prev
	} else {
		l.runsLast = c.run.prev
	}
	c.run = running{}
}

// due is when the caller gives up; 0: not known.
func (l *Lane) due(c *Call) time.Duration {
	if c.Deadline == 0 && l.cfg.Deadline > 0 {
		return c.Arrived + l.cfg.Deadline
	}
	return c.Deadline
}

// overdue shows the limit's law those whose deadline passed while they run, as
// overload: when a back end stalls nothing comes out, and a law that only saw
// what comes out would see nothing.
func (l *Lane) overdue() {
	for c := l.runs; c != nil; c = c.run.next {
		if due := l.due(c); due > 0 && l.now > due && !c.late && !c.Stream {
			c.late = true
			l.limit.Observe(pid.Sample{Service: l.now - c.Started, Inflight: c.inflight, Overload: true})
		}
	}
}

// sample shows the limit's law how a call came out. A success that comes after
// its caller has given up is overload: it was of no use, and to leave it out of
// the service times makes them describe the requests that can succeed.
func (l *Lane) sample(c *Call, o Outcome) {
	service := max(0, l.now-c.Started)
	if c.Stream {
		o = Ignore
	}
	if due := l.due(c); o == Success && due > 0 && l.now > due {
		o = Overload
	}
	switch o {
	case Success:
		l.count.Service.Add(service)
		l.costs.done(c.Op, service)
		l.limit.Observe(pid.Sample{Service: service, Inflight: c.inflight})
		l.tick.barren = l.now
	case Overload:
		if !c.late {
			l.limit.Observe(pid.Sample{Service: service, Inflight: c.inflight, Overload: true})
		}
	}
	if o != Ignore {
		l.tick.lastDone = l.now
	}
}
