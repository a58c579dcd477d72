package core

import (
	"time"

	"github.com/spillway-go/spillway/codel"
	"github.com/spillway-go/spillway/pid"
)

// Config of a lane: the leaves' own types; every one must be valid.
type Config struct {
	Limit    pid.LimitConfig
	Queue    codel.Config
	Gate     pid.GateConfig
	Deadline time.Duration // 0: measured
	MaxCost  int           // that is learned for an operation; 0: none is
}

// Lane is the pure state machine of one lane. It is not safe for concurrent
// use: its owner has a lock. Times may go backwards, which counts as standing
// still; Arrive and Release may be told no time at all, see Untimed.
//
// Calls that are settled while they wait (granted, expired, evicted, closed)
// are gathered in a list that the owner takes with Settled after each method
// that may settle somebody, and tells after he unlocked.
type Lane struct {
	cfg   Config
	limit pid.Limit
	gate  gate
	ratio pid.ShedRatio
	queue *codel.Queue[*Call]

	now      time.Duration  // the latest that was seen
	blind    bool           // what happens now was told no time
	slots    int            // the limit in force, as of the last tick
	inflight int            // slots taken
	law      pid.LimitState // as of the last tick
	closed   bool
	changed  bool // by Reconfigure: waiters may fit that did not

	bound   int // of the queue, at least
	perSlot int // of the queue, for each slot

	signal    float64 // shed ratio that the signals ask for
	signalWho string  // the one that asks for most
	binding   string  // what asked for most at the gate's last tick

	runs, runsLast           *Call // all that hold slots, the latest first
	settledHead, settledTail *Call

	tick  ticks
	pace  pace
	count Counters

	costs        costs
	costsChanged bool // since Costs was asked
}

// epoch anchors the lane's Durations for the queue, which is told points in
// time. Any point will do.
var epoch = time.Unix(0, 0)

func at(now time.Duration) time.Time { return epoch.Add(now) }

// New returns an idle lane. limit nil means the law of cfg.Limit.
func New(cfg Config, limit pid.Limit) (*Lane, error) {
	l := &Lane{queue: codel.New[*Call](cfg.Queue), bound: codel.DefaultCapacity, perSlot: 4}
	l.tick.idle = true
	l.pace.stride = 1
	l.gate.set(0, 0)
	l.tick.at = -TickPeriod // the first tick is due at once
	if err := l.Reconfigure(cfg, limit); err != nil {
		return nil, err
	}
	return l, nil
}

// Reconfigure changes the config while the lane runs: who runs, who waits and
// what was measured stay, limit and shed ratio included: see [pid.Retune] and
// [pid.ShedRatio.SetConfig]. A law that is
// handed in replaces the one there is. A retired lane is opened again.
func (l *Lane) Reconfigure(cfg Config, limit pid.Limit) error {
	if err := l.ratio.SetConfig(cfg.Gate); err != nil {
		return err
	}
	if limit == nil {
		limit = l.limit
		if limit == nil || cfg.Limit != l.cfg.Limit {
			var err error
			if limit, err = pid.Retune(l.limit, cfg.Limit); err != nil {
				return err
			}
		}
	}
	l.cfg, l.limit, l.closed, l.changed = cfg, limit, false, true
	l.queue.SetConfig(cfg.Queue)
	l.tick.leftSeen = false
	l.learn(cfg.MaxCost)
	l.follow()
	return nil
}

// Retire lets who runs and who waits end, and sheds every later arrival. Signals
// ask nothing more of it, or it would never be idle.
func (l *Lane) Retire() {
	l.closed = true
	l.SetSignals(0, "")
}

// follow takes over what the limit's law has decided. The queue's bound
// follows the limit, unless it was given.
func (l *Lane) follow() {
	l.slots, l.law = max(l.limit.Limit(), 1), pid.LimitState{}
	if e, ok := l.limit.(pid.Explainer); ok {
		l.law = e.State()
	}
	if c := l.cfg.Queue.Capacity; c > 0 {
		l.queue.SetCapacity(c)
	} else {
		l.queue.SetCapacity(max(l.bound, l.perSlot*l.slots))
	}
}

// SetBound sets how the queue's bound follows the limit: perSlot for each slot,
// and no less than least.
func (l *Lane) SetBound(least, perSlot int) {
	l.bound, l.perSlot = least, perSlot
	l.follow()
}

// Refuse counts an arrival that never came to the gate: its owner shed it.
func (l *Lane) Refuse(rank int, why Reason, ghost bool) {
	l.tick.turned++
	l.count.Tiers[rank/NumCohorts].Arrived++
	l.refused(rank/NumCohorts, why, ghost)
}

// Short counts an arrival that Refuse has counted as one that found no slot: it was
// over a share of the limit, of which a larger limit has more. Without it callers who
// all are at their shares would hold the limit where it began.
func (l *Lane) Short() { l.tick.blocked++ }

// Gone counts an arrival whose caller had left before it came to the gate.
func (l *Lane) Gone(rank int) {
	l.count.Tiers[rank/NumCohorts].Arrived++
	l.count.Tiers[rank/NumCohorts].Left++
}

// Unslotted counts a call that runs in shadow without a slot from now on,
// because Offer or Refuse said no.
func (l *Lane) Unslotted(c *Call) {
	c.State = Refused
	l.bounded(c)
	l.overrun(c)
}

// bounded takes a cost above the limit for the whole of it: such a call runs
// alone in any case, and more would wrap the sum of the slots taken, and drown
// what the laws measure from it.
func (l *Lane) bounded(c *Call) { c.Cost = min(c.Cost, l.slots) }

// overrun counts a ghost that runs though the lane has no slot for it.
func (l *Lane) overrun(c *Call) {
	c.overrun = true
	l.count.Overrun += c.Cost
	l.count.Tiers[c.Tier()].Admitted++
}

// Arrive brings a call that passed the gate: it gets its slots at once
// (Running), a place in the queue (Waiting), or is shed (Refused). chance is
// uniform in [0,1) and jitters its allowance. Without wait it is never queued.
// A waiter of a worse tier may be settled, see Settled.
func (l *Lane) Arrive(now time.Duration, c *Call, chance float64, wait bool) State {
	l.advance(now)
	l.bounded(c)
	c.Arrived, c.Started, c.State, c.settled = l.now, l.now, Idle, nil
	if l.tick.idle {
		l.tick.idle, l.tick.barren = false, l.now
	}
	switch {
	case l.closed:
		l.shed(c, ReasonClosed)
	case l.first(c) && l.fits(c.Cost):
		l.start(c)
	case !wait:
		l.tick.blocked++
		l.tick.lost++
		l.shed(c, ReasonLimit)
	case l.blind && l.packed(c.Tier()): // as Push will say, which needs a time
		l.tick.blocked++
		l.tick.lost++
		l.shed(c, ReasonQueueFull)
	default:
		l.tick.blocked++
		l.enqueue(c, chance)
	}
	if c.Ghost && c.State != Running {
		l.overrun(c)
	}
	return c.State
}

// first tells whether nobody in the queue goes before c. Equal tiers wait
// behind the waiters, or whoever releases and comes back at once would always
// overtake them.
func (l *Lane) first(c *Call) bool {
	if l.queue.Len() == 0 {
		return true
	}
	return c.Tier() < l.queue.Peek(at(l.now)).Tier
}

// fits tells whether so many slots are free. A call that costs as much as a
// limit that was lowered since runs alone, for else it would never run.
func (l *Lane) fits(cost int) bool {
	return !l.law.Resting && (l.inflight+cost <= l.slots || l.inflight == 0)
}

// Leave takes out a call whose caller has gone. If it was granted meanwhile
// its slots go to the next one, and no sample is taken.
func (l *Lane) Leave(now time.Duration, c *Call) {
	l.advance(now)
	tier := &l.count.Tiers[c.Tier()]
	switch c.State {
	case Waiting:
		l.queue.Remove(&c.item)
		tier.Left++
	case Running:
		l.stop(c)
		tier.Admitted--
		tier.Left++
	}
	c.State = Idle
	l.grant()
}

// Release ends a call that runs. Ghosts may be in any state: what the lane
// still has of them is taken back; the end of one without a slot stands for that of
// another, see relieve.
func (l *Lane) Release(now time.Duration, c *Call, o Outcome) {
	l.advance(now)
	tier := &l.count.Tiers[c.Tier()]
	tier.Outcomes[o]++
	if c.overrun {
		c.overrun = false
		l.count.Overrun -= c.Cost
	}
	switch c.State {
	case Waiting:
		l.queue.Remove(&c.item)
	case Running:
		l.stop(c)
		l.sample(c, o)
	default:
		if c.Ghost {
			l.relieve(c, o)
		}
	}
	c.State = Idle
	l.grant()
}

// relieve takes the end of a ghost that holds no slot for the end of the one that
// has held its slot longest. The back end has everybody, and slots would be held for
// as long as it takes to serve somebody among all; but what it gets done is about what
// it would get done of fewer, so the lane goes on at that pace. Who ends with his
// deadline has given up: nothing was done. The limit's law is shown nothing, for
// the back end's pace says nothing about another limit.
func (l *Lane) relieve(ended *Call, o Outcome) {
	late := l.now - ended.Deadline
	if gaveUp := o == Overload && ended.Deadline > 0 && late >= 0 && late < TickPeriod; gaveUp || o == Ignore {
		return
	}
	if c := l.runsLast; c != nil && c.Ghost && !c.Stream {
		l.stop(c)
		c.State, c.overrun = Idle, true
		l.count.Overrun += c.Cost
		l.tick.barren, l.tick.lastDone = l.now, l.now
	}
}

// advance moves the lane's time.
func (l *Lane) advance(now time.Duration) { l.blind, l.now = now == Untimed, max(l.now, now) }

// Close sheds all waiters and every later arrival. What runs may be released.
func (l *Lane) Close(now time.Duration) {
	l.advance(now)
	l.closed = true
	for it := l.queue.Pop(at(l.now)); it != nil; it = l.queue.Pop(at(l.now)) {
		l.settleShed(it.Value, ReasonClosed)
	}
}
