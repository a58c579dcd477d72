package admission

import (
	"time"

	"github.com/spillway-go/spillway/admission/internal/core"
)

// Ticket is the right to run one request. It is a handle that may be copied
// and passed between goroutines; all copies are one ticket. The zero Ticket is
// what requests get that hold nothing (exempt, mode Off); its methods do
// nothing.
type Ticket struct {
	e       *entry
	gen     uint64
	waited  time.Duration
	untimed bool
}

// Release ends the request and says how it came out. The first call counts,
// from any goroutine and any copy; later ones do nothing, even when the
// controller has reused what the ticket points at. An unknown outcome counts
// as Ignore. The time from Admit to Release is the request's service time, so
// release when the work is really done, not when somebody stopped waiting for
// it.
func (t Ticket) Release(o Outcome) {
	if t.e == nil {
		return
	}
	c, now := t.e.ctrl, core.Untimed
	if !t.untimed {
		now = c.now()
	}
	o = min(o, Ignore)
	settled, steps := c.release(t, now, o)
	tell(settled)
	if steps {
		defer c.settle(t.e, now, o) // also when a stage's Exit panics
		c.exitSteps(t.e, o)
	}
}

// release ends the request if t is its ticket, or tells that there are stages or
// guards to be left before that.
func (c *Controller) release(t Ticket, now time.Duration, o Outcome) (settled *core.Call, steps bool) {
	e, l := t.e, t.e.lane
	if !l.mu.TryLock() {
		l.mu.Lock()
	}
	defer l.mu.Unlock() // also when a Limit of the user's panics
	if e.gen != t.gen {
		return nil, false
	}
	e.gen++
	if e.entered > 0 || e.guards != 0 {
		return nil, true
	}
	return c.settleLocked(e, now, o), false
}

func (c *Controller) settle(e *entry, now time.Duration, o Outcome) {
	tell(func() *core.Call {
		e.lane.mu.Lock()
		defer e.lane.mu.Unlock()
		return c.settleLocked(e, now, o)
	}())
}

// settleLocked gives everything back, the entry last.
func (c *Controller) settleLocked(e *entry, now time.Duration, o Outcome) (settled *core.Call) {
	l := e.lane
	if now == core.Untimed && l.mu.core.Awaited() {
		now = c.now()
	}
	e.hold.ReleaseLocked()
	l.mu.core.Release(now, &e.call, o)
	l.putLocked(e)
	return l.mu.core.Settled()
}

// Waited is how long the request was in the queue.
func (t Ticket) Waited() time.Duration { return t.waited }
