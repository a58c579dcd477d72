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
	e      *entry
	gen    uint64
	waited time.Duration
}

// Release ends the request and says how it came out. The first call counts,
// from any goroutine and any copy; later ones do nothing, even when the
// controller has reused what the ticket points at. An unknown outcome counts
// as Ignore. The time from Admit to Release is the request's service time, so
// release when the work is really done, not when somebody stopped waiting for
// it.
func (t Ticket) Release(o Outcome) {
	e := t.e
	if e == nil || !e.gen.CompareAndSwap(t.gen, t.gen+1) {
		return
	}
	c, l, now := e.ctrl, e.lane, core.Untimed
	if !e.call.Untimed {
		now = c.now()
	}
	o = min(o, Ignore)
	if e.entered > 0 || e.guards != 0 {
		defer c.settle(e, l, now, o) // also when a stage's Exit panics
		c.exitSteps(e, o)
		return
	}
	c.settle(e, l, now, o)
}

// settle gives everything back, the entry last.
func (c *Controller) settle(e *entry, l *lane, now time.Duration, o Outcome) {
	e.hold.Release()
	tell(c.release(e, l, now, o))
}

func (c *Controller) release(e *entry, l *lane, now time.Duration, o Outcome) (settled *core.Call) {
	l.mu.Lock()
	defer l.mu.Unlock() // also when a Limit of the user's panics
	if now == core.Untimed && l.mu.core.Awaited() {
		now = c.now()
	}
	l.mu.core.Release(now, &e.call, o)
	l.putLocked(e)
	return l.mu.core.Settled()
}

// Waited is how long the request was in the queue.
func (t Ticket) Waited() time.Duration { return t.waited }
