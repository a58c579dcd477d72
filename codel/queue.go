package codel

import (
	"math"
	"time"
)

// Mode is the order in which a queue serves the waiters of one tier.
type Mode uint8

// The modes: FIFO when calm (the zero value), LIFO under a standing queue.
const (
	FIFO Mode = iota
	LIFO
)

// String returns "FIFO" or "LIFO".
func (m Mode) String() string {
	if m == LIFO {
		return "LIFO"
	}
	return "FIFO"
}

// Queue is a bounded priority queue with adaptive LIFO and expiry; see the
// package comment. Make one with [New]. It is not safe for concurrent use: its
// owner has a lock, and the items in it are under that lock too. No method
// blocks or allocates.
//
// A now earlier than one given before, while anybody waits, counts as that one:
// time stands still, waits are never negative. A jump forward, of years even,
// costs no more than the items that it expires.
type Queue[T any] struct {
	cfg      Config
	capacity int
	length   int
	tiers    [NumTiers]struct {
		list[T]
		length int
	}
	wheel wheel[T]

	// The queue's clock starts when it becomes non-empty and so is also the
	// measure of a standing queue. That it starts anew each time lets a clock
	// that was set back hold up only those who were waiting then.
	epoch  time.Time
	latest time.Time     // the latest now
	age    time.Duration // latest - epoch

	last time.Duration // allowance of the item last pushed
	mode Mode
}

// New returns an empty queue. REQUIRES: cfg.Validate() == nil.
func New[T any](cfg Config) *Queue[T] {
	q := new(Queue[T])
	q.SetConfig(cfg)
	return q
}

// SetConfig puts cfg into force, its Capacity included, and keeps all waiters,
// their allowances and the mode. REQUIRES: cfg.Validate() == nil.
func (q *Queue[T]) SetConfig(cfg Config) {
	q.cfg = cfg.WithDefaults()
	q.capacity = q.cfg.Capacity
}

// SetCapacity sets the most waiters to n; with zero or less nobody may wait. It
// sheds nobody: a queue above its capacity lets a newcomer in only for another.
func (q *Queue[T]) SetCapacity(n int) { q.capacity = max(n, 0) }

// Capacity returns the most waiters.
func (q *Queue[T]) Capacity() int { return q.capacity }

// Len returns the number of waiters, those that are due to expire included.
func (q *Queue[T]) Len() int { return q.length }

// LenTier returns the number of waiters in tier, 0 if there is no such tier.
func (q *Queue[T]) LenTier(tier int) int {
	if tier < 0 || tier >= NumTiers {
		return 0
	}
	return q.tiers[tier].length
}

// HeadAge returns how long the oldest waiter of tier has waited, 0 if there is
// none. It is the reading to take pressure from: the sojourn times of those
// served are short under LIFO however bad things are.
func (q *Queue[T]) HeadAge(now time.Time, tier int) time.Duration {
	if q.LenTier(tier) == 0 {
		return 0
	}
	since := q.tiers[tier].head.enqueued
	return max(now.Sub(since), q.latest.Sub(since))
}

// Mode returns the order in force as of the last Push, Pop or Expire, FIFO if
// the queue is empty.
func (q *Queue[T]) Mode() Mode { return q.mode }

// Push lets it wait. When the queue is full, the oldest waiter of the worst
// tier present gives way if that tier is the newcomer's or worse; it is
// returned as evicted and no longer queued. The oldest, as it has the least of
// its allowance left. Otherwise the newcomer is refused: ok is false. So it is,
// without any effect, if it is nil or queued already, here or elsewhere.
func (q *Queue[T]) Push(now time.Time, it *Item[T]) (evicted *Item[T], ok bool) {
	if it == nil || it.queue != nil {
		return nil, false
	}
	tier := min(max(it.Tier, 0), NumTiers-1)
	if q.length == 0 {
		q.epoch, q.latest = now, now
	}
	q.settle(now)
	if q.length >= q.capacity {
		if evicted = q.worst(); evicted == nil || evicted.tier < tier {
			return nil, false
		}
	}
	q.attach(it, tier)
	// Only now, so that a queue of one does not seem to have been empty.
	if evicted != nil {
		q.detach(evicted)
	}
	q.mode = q.modeAt(q.age) // the newcomer's allowance is now the measure
	return evicted, true
}

// Pop takes out and returns the next to be served, nil if nobody waits: the
// best tier's oldest waiter in mode FIFO, its newest in mode LIFO. It does not
// look at allowances: the caller drains Expire(now) first.
func (q *Queue[T]) Pop(now time.Time) *Item[T] {
	if q.length == 0 {
		return nil
	}
	q.settle(now)
	it := q.best(q.mode)
	q.detach(it)
	return it
}

// Peek returns what Pop would, and changes nothing.
func (q *Queue[T]) Peek(now time.Time) *Item[T] {
	if q.length == 0 {
		return nil
	}
	return q.best(q.modeAt(max(now.Sub(q.epoch), q.age)))
}

// Remove takes out it, whose caller has left. It returns false, without any
// effect, if it is not in this queue.
func (q *Queue[T]) Remove(it *Item[T]) bool {
	if it == nil || it.queue != q {
		return false
	}
	q.detach(it)
	return true
}

// Expire takes out and returns one waiter whose allowance has passed, nil if
// there is none. Call it until nil. Which of several comes first is not said.
// Pushing n and expiring them all is O(n); a single call may sort many.
func (q *Queue[T]) Expire(now time.Time) *Item[T] {
	if q.length == 0 {
		return nil
	}
	q.settle(now)
	it := q.wheel.due(int64(q.age / grain))
	if it != nil {
		q.detach(it)
	}
	return it
}

// NextExpiry returns when Expire should be called next; ok is false if nobody
// waits. It is never later than the first expiry. It may be earlier, a few
// times in a long wait, and Expire then returns nil; but after Expire(now) has
// returned nil it is later than now.
func (q *Queue[T]) NextExpiry() (at time.Time, ok bool) {
	tick, ok := q.wheel.next()
	if !ok {
		return time.Time{}, false
	}
	return q.epoch.Add(time.Duration(tick) * grain), true
}

// modeAt returns the mode at age, if nothing is pushed until then. There is no
// way back from LIFO here: only emptying leads there.
func (q *Queue[T]) modeAt(age time.Duration) Mode {
	window := q.last
	if q.cfg.Law == LawCoDel {
		window = q.cfg.Interval
	}
	if age > window {
		return LIFO
	}
	return q.mode
}

// settle brings clock and mode up to now. Push settles before it takes in the
// newcomer, although the mode is looked at again after: the mode thus depends
// on what was pushed when, not on how often the queue was asked in between.
func (q *Queue[T]) settle(now time.Time) {
	if age := now.Sub(q.epoch); age > q.age {
		q.latest, q.age = now, age
	}
	q.mode = q.modeAt(q.age)
}

// best returns the waiter to serve next. REQUIRES: somebody waits.
func (q *Queue[T]) best(m Mode) *Item[T] {
	tier := 0
	for q.tiers[tier].length == 0 {
		tier++
	}
	if m == LIFO {
		return q.tiers[tier].tail
	}
	return q.tiers[tier].head
}

// worst returns the oldest waiter of the worst tier present, or nil.
func (q *Queue[T]) worst() *Item[T] {
	for tier := NumTiers - 1; tier >= 0; tier-- {
		if q.tiers[tier].length > 0 {
			return q.tiers[tier].head
		}
	}
	return nil
}

func (q *Queue[T]) attach(it *Item[T], tier int) {
	allowance := max(it.Allowance, 0)
	it.queue = q
	it.tier = tier
	it.enqueued = q.latest
	expiry := q.age + allowance
	if expiry < 0 { // wrapped
		expiry = math.MaxInt64
	}
	it.expiry = tickAfter(expiry)

	q.wheel.advance(int64(q.age / grain))
	q.wheel.add(it)
	q.tiers[tier].pushBack(byTier, it)
	q.tiers[tier].length++
	q.length++
	q.last = allowance
}

func (q *Queue[T]) detach(it *Item[T]) {
	q.wheel.remove(it)
	q.tiers[it.tier].remove(byTier, it)
	q.tiers[it.tier].length--
	q.length--
	it.queue = nil
	if q.length == 0 {
		q.age, q.mode = 0, FIFO
	}
}
