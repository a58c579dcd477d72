package sim

import (
	"time"

	"github.com/spillway-go/spillway/admission/internal/core"
)

// immediately is the least delay of a retry: nobody turns round in no time.
const immediately = time.Millisecond

// ask makes an attempt of r.
func (e *engine) ask(r request) {
	a := e.take()
	a.request = r
	a.began, a.due, a.asking = e.now, e.now+r.patience, true
	a.call.Rank, a.call.Deadline = r.rank, a.due
	e.tally.asked(a)
	if e.ghosts {
		e.haunt(a)
		return
	}
	switch {
	case e.expected >= r.patience:
		// The controller's own check, by what the last tick published.
		e.lane.Refuse(r.rank, core.ReasonDeadline, false)
		e.refuse(a, core.ReasonDeadline)
	case e.lane.Offer(r.rank, r.hash, false):
		e.refuse(a, core.ReasonPriority)
	default:
		state := e.lane.Arrive(e.now, &a.call, e.chance.uniform(), true)
		switch state {
		case core.Running:
			e.serve(a)
		case core.Refused:
			e.refuse(a, a.call.Reason)
		}
		if state != core.Refused {
			e.events.push(int64(a.due), event{giveUp, a, a.gen})
		}
		e.settled()
	}
}

// haunt runs an attempt as the controller does in shadow.
func (e *engine) haunt(a *attempt) {
	a.call.Ghost = true
	switch {
	case e.expected >= a.patience:
		e.lane.Refuse(a.rank, core.ReasonDeadline, true)
		e.lane.Unslotted(&a.call)
	case e.lane.Offer(a.rank, a.hash, true):
		e.lane.Unslotted(&a.call)
	default:
		e.lane.Arrive(e.now, &a.call, e.chance.uniform(), true)
	}
	e.serve(a)
	e.events.push(int64(a.due), event{giveUp, a, a.gen})
}

// settled tells the attempts that were settled while they waited.
func (e *engine) settled() {
	for c := e.lane.Settled(); c != nil; {
		next, a := c.Next(), c.Owner.(*attempt)
		if c.State == core.Running {
			e.serve(a)
		} else {
			e.tally.died(a)
			e.refuse(a, c.Reason)
		}
		c = next
	}
}

// refuse tells an attempt's client no.
func (e *engine) refuse(a *attempt, why core.Reason) {
	e.tally.shed(a, why)
	e.vain()
	a.asking = false
	e.again(a, why != core.ReasonDeadline)
	e.put(a)
}

// answer gives an attempt's client what it waited for.
func (e *engine) answer(a *attempt) {
	a.asking = false
	e.tally.good(a, e.now-a.began)
	e.over(a.request, e.think())
}

// giveUp is when an attempt's deadline passes.
func (e *engine) giveUp(a *attempt) {
	a.asking = false
	e.vain()
	c := &e.scenario.Client
	dropped := a.slot && c.CancelStopsWork && e.stations[a.station].leave(e.now, a)
	a.serving = a.serving && !dropped
	switch {
	case a.call.State == core.Waiting && !a.slot:
		e.lane.Leave(e.now, &a.call)
		e.tally.died(a)
		e.tally.left(a)
	case dropped, a.slot && c.CancelReleasesSlot:
		a.slot = false
		e.tally.took(a, a.patience)
		e.tally.late(a)
		e.lane.Release(e.now, &a.call, core.Overload)
	default:
		e.tally.late(a)
	}
	e.settled()
	e.again(a, false)
	e.put(a)
}

// again lets the client of a failed attempt try once more, or give up for good.
// hinted tells whether the refusal said when to.
func (e *engine) again(a *attempt, hinted bool) {
	c := &e.scenario.Client
	hinted = hinted && c.Retry == "hint"
	// The service takes every attempt for a first one: few clients tell.
	if c.Retry == "" || a.retries >= c.MaxRetry || hinted && !core.MayRetry(a.rank, 0) {
		e.over(a.request, max(e.think(), immediately))
		return
	}
	delay := 0.0
	switch {
	case hinted:
		delay = e.hint.Seconds() * 1000 * (0.5 + e.patience.uniform())
	case c.Retry == "backoff":
		delay = c.BaseMS * float64(uint64(1)<<min(a.retries, 40)) * (0.5 + e.patience.uniform())
	case c.Retry == "after", c.Retry == "hint":
		delay = c.BaseMS * (1 + c.RetryAfterJitter*(2*e.patience.uniform()-1))
	}
	r := a.request
	r.retries++
	e.later(max(millis(delay), immediately), r)
}

// over ends a request; a closed-loop client thinks and has another.
func (e *engine) over(r request, think time.Duration) {
	e.open--
	if r.closed && e.now+think < e.end {
		e.open++
		e.later(think, request{closed: true})
	}
}

func (e *engine) think() time.Duration {
	return millis(e.scenario.Load.ThinkMS * e.patience.exp())
}

// later makes an attempt of r after a delay; of a new request if r has no
// number.
func (e *engine) later(delay time.Duration, r request) {
	a := e.take()
	a.request = r
	e.events.push(int64(e.now+delay), event{comeBack, a, a.gen})
}

// comeBack is when the delay is over.
func (e *engine) comeBack(a *attempt) {
	r := a.request
	e.put(a)
	if r.closed && r.retries == 0 {
		r = e.fresh(true)
	}
	e.ask(r)
}
