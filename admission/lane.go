package admission

import (
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/admission/internal/core"
	"github.com/spillway-go/spillway/scorecard"
)

// lane is the shell of a core.Lane: one short lock, the entries of its
// requests, and what is read without the lock.
//
// Its lock is that of the scorecard, and so of all lanes of the controller: a
// request then takes one lock where it would take two, and less time than in a lane
// apart. Lock order: it is the innermost. Under it nothing else is locked, nobody is
// woken and no user code runs, but a Limit of his own.
type lane struct {
	name  string
	forms [NumTiers]*scorecard.Form // of its requests, by tier

	mu struct {
		*scorecard.Card // its lock
		core            *core.Lane
		free            *entry  // a list by entry.next
		chance          float64 // the last jitter, see next
		asleep          bool    // ticks pause until somebody comes
		wake            time.Duration
		limit           int    // when last seen, for the hook
		turn            uint32 // of the refusals' hints
		early           uint64
	}

	lax      atomic.Uint32 // Mode in force
	open     atomic.Bool   // the gate sheds nobody: as of the last tick
	rush     atomic.Bool   // core.Rush as of the last tick
	expected atomic.Int64  // core.Expected as of the last tick, nanoseconds
	ticked   atomic.Int64  // when the last tick was, nanoseconds
	refusals atomic.Pointer[refusals]
	costs    atomic.Pointer[map[string]int] // learned ones above 1, by op; nil: none

	edges  edges         // the loop's, then Close's
	meter  core.Meter    // guarded by the controller's load.mu
	demand atomic.Uint64 // its utilization when last renewed, as bits of a float64
}

// entry is the shell's part of a request that came as far as the lane, or that holds
// something before: of the rules, of stages and guards. Entries are reused; gen tells
// the ticket of one use from those of earlier ones.
type entry struct {
	call  core.Call
	gen   uint64 // guarded by the lane's lock
	lane  *lane
	ctrl  *Controller
	ready chan struct{} // told once when a waiter is settled
	next  *entry

	hold    scorecard.Hold
	request Request // only kept for stages and guards
	entered int     // of the stages
	cost    int     // as guards are told
	guards  uint64  // those entered, by their place in the plan
	plan    *plan   // whose they are
}

func (l *lane) mode() Mode { return Mode(l.lax.Load()) }

// describe tells the lane what it must know of the request.
func (e *entry) describe(a *ask, r *Request) {
	e.call.Rank, e.call.Op, e.call.Cost, e.call.Deadline = a.rank, r.Op, a.cost, a.due
	e.call.Ghost, e.call.Stream, e.call.Untimed = a.ghost, r.Stream, false
}

// ticket is that of the request which the entry is for now. The lane is locked, or
// the request has no other ticket yet.
func (e *entry) ticket() Ticket { return Ticket{e: e, gen: e.gen, untimed: e.call.Untimed} }

// peekLocked returns an entry that is not in use, and stays so until takeLocked.
func (l *lane) peekLocked(c *Controller) *entry {
	if l.mu.free == nil {
		e := &entry{lane: l, ctrl: c, ready: make(chan struct{}, 1)}
		e.call.Owner = e
		l.mu.free = e
	}
	return l.mu.free
}

// entryLocked returns the entry that the request has already, or one for the moment:
// who is shed needs none for longer, and who is not claims it.
func (l *lane) entryLocked(c *Controller, a *ask) *entry {
	if a.e != nil {
		return a.e
	}
	return l.peekLocked(c)
}

// takeLocked returns an entry for a request's use.
func (l *lane) takeLocked(c *Controller) *entry {
	e := l.peekLocked(c)
	l.mu.free, e.next = e.next, nil
	return e
}

func (l *lane) putLocked(e *entry) {
	e.next, l.mu.free = l.mu.free, e
}

// chanceLocked is the next number of the golden-ratio sequence: more evenly
// spread over [0,1) than random numbers, which is what jitter is for.
func (l *lane) chanceLocked() float64 {
	const goldenRatio = 0.6180339887498949
	l.mu.chance += goldenRatio
	if l.mu.chance >= 1 {
		l.mu.chance--
	}
	return l.mu.chance
}

// turnLocked spreads those refused together over the hints.
func (l *lane) turnLocked() uint32 {
	const step = 7 // prime to their number, so that all come in turn
	l.mu.turn += step
	return l.mu.turn
}

// wakeLocked tells whether the loop must look at this lane earlier than it
// means to: its ticks pause, or a waiter expires before the next one.
func (l *lane) wakeLocked() bool {
	if l.mu.asleep {
		l.mu.asleep = false
		l.mu.wake = 0
		return true
	}
	if at, ok := l.mu.core.NextExpiry(); ok && at < l.mu.wake {
		l.mu.wake = at
		return true
	}
	return false
}

// tell wakes the callers of settled calls. It is called after unlocking. Next
// is read before the wake-up, since a woken caller may reuse the call.
func tell(settled *core.Call) {
	for c := settled; c != nil; {
		next := c.Next()
		c.Owner.(*entry).ready <- struct{}{}
		c = next
	}
}

// cost is how many slots a request takes: what it names, else what was learned.
func (l *lane) cost(r *Request) int {
	if r.Cost == 0 {
		if learned := l.costs.Load(); learned != nil {
			return max((*learned)[r.Op], 1)
		}
	}
	return max(r.Cost, 1)
}

// load is what stages are shown.
func (l *lane) load(now time.Time) Load {
	l.mu.Lock()
	inflight, limit, queued, pressure := l.mu.core.Load()
	ratio := l.mu.core.ShedRatio()
	l.mu.Unlock()
	return Load{Now: now, Inflight: inflight, Limit: limit, Queued: queued, Pressure: pressure, ShedRatio: ratio}
}
