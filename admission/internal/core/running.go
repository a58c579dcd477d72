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

// account takes in how the slots were used until now. It comes before every
// change of inflight and before the laws look, not with every call: the sum must
// be the same to the last bit however often an owner asks.
func (l *Lane) account() {
	if l.now > l.tick.areaAt {
		l.accountNow()
	} else if l.blind {
		l.tick.unseen++
		l.tick.levels += l.inflight
	}
}

func (l *Lane) accountNow() {
	t := &l.tick
	t.area, t.areaAt = l.used(), l.now
	t.unseen, t.levels = 0, 0
}

// used is the slot-seconds used until now. Between two times that are known the
// changes without one are taken to be spread evenly, which is off by half a slot at
// most where they are not.
func (l *Lane) used() float64 {
	level := float64(l.inflight)
	if n := l.tick.unseen; n > 0 {
		level = float64(l.tick.levels+l.inflight) / float64(n+1)
	}
	return l.tick.area + level*(l.now-l.tick.areaAt).Seconds()
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
// what comes out would see nothing. While something does, it is shown the timed ones
// alone, as of those that come out: all would count for many times as much.
func (l *Lane) overdue() {
	stalled := l.tick.lastDone < l.tick.at
	for c := l.runs; c != nil; c = c.run.next {
		if c.Untimed && !stalled {
			continue
		}
		due := l.due(c)
		if c.Untimed && c.Deadline == 0 && due > 0 {
			due += TickPeriod // the call may be so much younger than it seems
		}
		if due > 0 && l.now > due && !c.late && !c.Stream {
			c.late = true
			l.limit.Observe(pid.Sample{Service: l.now - c.Started, Inflight: c.inflight, Overload: true})
		}
	}
}

// sample shows the limit's law how a call came out. A success that comes after
// its caller has given up is overload: it was of no use, and to leave it out of
// the service times makes them describe the requests that can succeed.
func (l *Lane) sample(c *Call, o Outcome) {
	if c.Stream {
		o = Ignore
	}
	if c.Untimed {
		l.counted(o)
		return
	}
	service := max(0, l.now-c.Started)
	if due := l.due(c); o == Success && due > 0 && l.now > due {
		o, l.tick.more = Overload, 0
	}
	switch o {
	case Success:
		l.count.Service.Add(service)
		l.costs.done(c.Op, service)
		l.limit.Observe(pid.Sample{Service: service, Inflight: c.inflight, More: l.tick.more})
		l.tick.barren, l.tick.typical, l.tick.more = l.now, service, 0
	case Overload:
		if !c.late {
			l.limit.Observe(pid.Sample{Service: service, Inflight: c.inflight, Overload: true})
		}
	}
	if o != Ignore {
		l.tick.lastDone = l.now
	}
}

// counted is sample for a call whose time is not known. The histogram takes it for
// as long as the last one that was timed, so that it counts them all and keeps its
// shape.
func (l *Lane) counted(o Outcome) {
	if o == Success {
		l.count.Service.Add(l.tick.typical)
		l.tick.more++
		l.tick.barren = l.now
	}
	if o != Ignore {
		l.tick.lastDone = l.now
	}
}
