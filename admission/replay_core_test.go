package admission

import (
	"container/heap"
	"testing"
	"time"

	"github.com/spillway-go/spillway/admission/internal/core"
	"github.com/spillway-go/spillway/scorecard"
)

// replayInCore drives the core by the clock and events of the simulator's
// engine: ticks on a grid from 0, expiries when they are due.
type replayInCore struct {
	lane     lane // of the shell: what draws the chance and takes the statistics
	expected time.Duration
	events   replayEvents
	requests map[*core.Call]*replayed
	verdicts []verdict
}

type replayEvent struct {
	at time.Duration
	do func(now time.Duration)
}

type replayEvents []replayEvent

func (e replayEvents) Len() int           { return len(e) }
func (e replayEvents) Less(i, j int) bool { return e[i].at < e[j].at }
func (e replayEvents) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *replayEvents) Push(x any)        { *e = append(*e, x.(replayEvent)) }
func (e *replayEvents) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func (p *replayInCore) later(at time.Duration, do func(time.Duration)) {
	heap.Push(&p.events, replayEvent{at, do})
}

func (p *replayInCore) decided(now time.Duration, q *replayed, what string) {
	p.verdicts = append(p.verdicts, verdict{now, q.id, what})
}

// run returns what was decided and how the lane looked.
func (p *replayInCore) run(t *testing.T, cfg Config, stream []replayed, end time.Duration) (looks []look) {
	k, err := core.New(cfg.WithDefaults().Lanes[defaultLane].core(), nil)
	if err != nil {
		t.Fatal(err)
	}
	p.lane.mu.Card = &scorecard.Card{}
	p.lane.name, p.lane.mu.core, p.requests = defaultLane, k, map[*core.Call]*replayed{}
	for i := range stream {
		p.later(stream[i].at, func(now time.Duration) { p.arrive(now, &stream[i]) })
	}
	for at := lookOffset; at < end; at += lookPeriod {
		p.later(at, func(now time.Duration) { looks = append(looks, look{now, p.lane.stats(now)}) })
	}
	p.later(end, func(now time.Duration) { k.Close(now) })
	last := time.Duration(-1)
	for tick := time.Duration(0); len(p.events) > 0; p.settled(last) {
		due := p.events[0].at
		if due == last {
			t.Fatalf("two events at %v: their order is not defined", due)
		}
		if at, ok := k.NextExpiry(); ok && at < min(due, tick) {
			k.Expire(at)
			last = at
			continue
		}
		if tick < due && tick < end {
			k.Tick(tick, p.lane.chanceLocked())
			p.expected = k.Expected()
			last = tick
			tick += core.TickPeriod
			continue
		}
		e := heap.Pop(&p.events).(replayEvent)
		e.do(e.at)
		last = e.at
	}
	return looks
}

func (p *replayInCore) arrive(now time.Duration, q *replayed) {
	k, rank := p.lane.mu.core, q.Priority.rank()
	c := &core.Call{Rank: rank, Cost: max(q.Cost, 1)}
	if q.waits > 0 {
		c.Deadline = now + q.waits
	}
	switch {
	case q.waits > 0 && q.waits <= p.expected:
		k.Refuse(rank, ReasonDeadline, false)
		p.decided(now, q, ReasonDeadline.String())
		return
	case k.Offer(rank, hashOf(&q.Request), false):
		p.decided(now, q, ReasonPriority.String())
		return
	case q.try && k.TurnAway(rank, c.Cost):
		p.decided(now, q, ReasonLimit.String())
		return
	}
	p.requests[c] = q
	k.Arrive(now, c, p.lane.chanceLocked(), !q.try)
	switch {
	case c.State != core.Waiting:
		p.outcome(now, c)
	case q.leaves > 0 && (q.waits == 0 || q.leaves < q.waits):
		p.later(now+q.leaves, func(now time.Duration) {
			if c.State == core.Waiting {
				k.Leave(now, c)
				p.decided(now, q, "left")
			}
		})
	}
}

// outcome is what becomes of a call that does not wait.
func (p *replayInCore) outcome(now time.Duration, c *core.Call) {
	q := p.requests[c]
	if c.State != core.Running {
		p.decided(now, q, c.Reason.String())
		return
	}
	p.decided(now, q, "admitted")
	p.later(now+q.service, func(now time.Duration) { p.lane.mu.core.Release(now, c, q.outcome) })
}

func (p *replayInCore) settled(now time.Duration) {
	for c := p.lane.mu.core.Settled(); c != nil; {
		next := c.Next()
		p.outcome(now, c)
		c = next
	}
}
