package codel

import "time"

// NumTiers is the number of tiers: 0, the best, to NumTiers-1.
const NumTiers = 6

// Item is one waiter. The caller fills in the exported fields and leaves it
// alone, neither changed nor copied, while it is queued. It may be pushed again
// once it has left; the zero Item is ready to be pushed.
type Item[T any] struct {
	// Value is the caller's own.
	Value T
	// Tier is its importance, 0 the best. Push takes a value out of range for
	// the nearest tier.
	Tier int
	// Allowance is the longest it may wait; see [Config.Allow]. It is kept to
	// a grain of 1 ms: an item expires when its allowance has passed, or less
	// than 1 ms later, never before. Zero or less is an allowance of nothing.
	Allowance time.Duration

	queue    *Queue[T] // the one it is in, or nil
	tier     int       // Tier, clamped; a caller's change to Tier cannot lose it
	enqueued time.Time
	expiry   int64 // in ticks of the queue's wheel
	links    [numChains]links[T]
}

// Sojourn returns how long after its last Push now is: given the now at which
// the item left the queue, its sojourn time. It is never negative, and without
// meaning for an item that was never pushed.
func (it *Item[T]) Sojourn(now time.Time) time.Duration {
	return max(now.Sub(it.enqueued), 0)
}
