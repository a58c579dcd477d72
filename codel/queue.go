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
	tiers    [NumTiers]tierQueue[T]
	wheel    wheel[T]

	// The queue's clock starts when it becomes non-empty. That it starts anew
	// each time lets a clock that was set back hold up only those who were
	// waiting then.
	epoch  time.Time
	latest time.Time     // the latest now
	age    time.Duration // latest - epoch
}

// tierQueue is the waiters of one tier. Each tier has a mode of its own: where
// better tiers are served before worse ones, the queue as a whole stands while
// the best tier's waiters come and go, and that tier under LIFO would lose every
// hundredth of them though there is room for all.
type tierQueue[T any] struct {
	list[T]
	length int
	since  time.Duration // the queue's age when the tier became non-empty
	last   time.Duration // allowance of its item last pushed
	mode   Mode
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
	for tier := range q.tiers {
		t := &q.tiers[tier]
		t.mode = q.ModeTier(tier) // by the old config
	}
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

// Mode returns LIFO if that is the order in force in any tier as of the last
// Push, Pop or Expire.
func (q *Queue[T]) Mode() Mode {
	for tier := range q.tiers {
		if q.ModeTier(tier) == LIFO {
			return LIFO
		}
	}
	return FIFO
}

// ModeTier returns the order in force in tier as of the last Push, Pop or
// Expire, FIFO if nobody of it waits or there is no such tier.
func (q *Queue[T]) ModeTier(tier int) Mode {
	if q.LenTier(tier) == 0 {
		return FIFO
	}
	return q.modeAt(&q.tiers[tier], q.age)
}

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
	q.advance(now)
	if q.length >= q.capacity {
		if evicted = q.worst(); evicted == nil || evicted.tier < tier {
			return nil, false
		}
	}
	q.attach(it, tier)
	// Only now, so that a tier of one does not seem to have been empty.
	if evicted != nil {
		q.detach(evicted)
	}
	return evicted, true
}

// Pop takes out and returns the next to be served, nil if nobody waits: the
// best tier's oldest waiter in mode FIFO, its newest in mode LIFO. It does not
// look at allowances: the caller drains Expire(now) first.
func (q *Queue[T]) Pop(now time.Time) *Item[T] {
	if q.length == 0 {
		return nil
	}
	q.advance(now)
	it := q.best(q.age)
	q.detach(it)
	return it
}

// Peek returns what Pop would, and changes nothing.
func (q *Queue[T]) Peek(now time.Time) *Item[T] {
	if q.length == 0 {
		return nil
	}
	return q.best(max(now.Sub(q.epoch), q.age))
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
	q.advance(now)
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

// modeAt returns the mode of a tier at age, if nothing is pushed to it until
// then. There is no way back from LIFO here: only emptying leads there.
func (q *Queue[T]) modeAt(t *tierQueue[T], age time.Duration) Mode {
	window := t.last
	if q.cfg.Law == LawCoDel {
		window = q.cfg.Interval
	}
	if age-t.since > window {
		return LIFO
	}
	return t.mode
}

// advance brings the clock up to now.
func (q *Queue[T]) advance(now time.Time) {
	if age := now.Sub(q.epoch); age > q.age {
		q.latest, q.age = now, age
	}
}

// best returns the waiter to serve next at age. REQUIRES: somebody waits.
func (q *Queue[T]) best(age time.Duration) *Item[T] {
	tier := 0
	for q.tiers[tier].length == 0 {
		tier++
	}
	t := &q.tiers[tier]
	if q.modeAt(t, age) == LIFO {
		return t.tail
	}
	return t.head
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
	t := &q.tiers[tier]
	if t.length == 0 {
		t.since = q.age
	}
	// The mode is kept before the newcomer's allowance becomes the measure: it
	// thus depends on what was pushed when, not on how often one asked in between.
	t.mode = q.modeAt(t, q.age)
	t.pushBack(byTier, it)
	t.length++
	t.last = allowance
	q.length++
}

func (q *Queue[T]) detach(it *Item[T]) {
	q.wheel.remove(it)
	t := &q.tiers[it.tier]
	t.remove(byTier, it)
	if t.length--; t.length == 0 {
		t.mode, t.last = FIFO, 0
	}
	if q.length--; q.length == 0 {
		q.age = 0
	}
	it.queue = nil
}
