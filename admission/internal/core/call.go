package core

import (
	"time"

	"github.com/spillway-go/spillway/codel"
)

// NumTiers and NumCohorts span the ranks: rank = tier*NumCohorts + cohort, 0
// is shed last.
const (
	NumTiers   = 6
	NumCohorts = 128
	NumRanks   = NumTiers * NumCohorts
)

// State is where a call stands.
type State uint8

// The states. Idle and Refused calls hold nothing.
const (
	Idle    State = iota
	Waiting       // in the queue
	Running       // holds its slots
	Refused       // shed; Reason says why
)

// Call is one request in a lane. Its owner sets the first group before Arrive
// and may read the rest while he holds the lane's lock. It can be used again
// once it is Idle or Refused and no longer in the settled list.
type Call struct {
	Rank     int
	Op       string        // whose cost is learned from it
	Cost     int           // slots, at least 1
	Deadline time.Duration // when its caller gives up; 0: never
	Stream   bool          // how long it runs says nothing of capacity
	Ghost    bool          // it runs whatever the lane decides, which is only counted
	Untimed  bool          // how long it runs is not measured, see pace
	Owner    any           // whatever the owner wants to find again

	State   State
	Reason  Reason        // of a Refused call
	Arrived time.Duration // when it came to the lane
	Started time.Duration // when it got its slots

	inflight int  // slots taken just after it got its own
	overrun  bool // a ghost that runs without slots
	late     bool // it runs past its deadline, and the limit's law knows
	run      running
	item     codel.Item[*Call]
	settled  *Call
}

// Tier of the call's rank.
func (c *Call) Tier() int { return c.Rank / NumCohorts }

// Next is the call after c in a settled list; see [Lane.Settled].
func (c *Call) Next() *Call { return c.settled }

// Waited is how long a call that runs was in the queue.
func (c *Call) Waited() time.Duration { return max(0, c.Started-c.Arrived) }
