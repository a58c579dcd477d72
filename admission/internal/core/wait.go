package core

import (
	"time"

	"github.com/spillway-go/spillway/codel"
)

// enqueue lets the call wait for its slots, for as long as its allowance says.
func (l *Lane) enqueue(c *Call, chance float64) {
	remaining, allowance := l.allow(l.now, c, chance)
	c.item.Value, c.item.Tier, c.item.Allowance = c, c.Tier(), allowance
	evicted, ok := l.queue.Push(at(l.now), &c.item)
	if evicted != nil {
		l.tick.lost++
		l.settleShed(evicted.Value, ReasonEvicted)
	}
	if !ok {
		l.tick.lost++
		l.shed(c, ReasonQueueFull)
		return
	}
	c.State = Waiting
	l.tick.waits(remaining)
}

// allow is how long the call's caller would wait, and how long the call may.
func (l *Lane) allow(now time.Duration, c *Call, chance float64) (remaining, allowance time.Duration) {
	remaining = l.patience()
	if c.Deadline > 0 {
		remaining = c.Deadline - now
	}
	allowance = l.cfg.Queue.Allow(remaining, l.queue.ModeTier(c.Tier()) == codel.LIFO, chance)
	worth := time.Duration(float64(allowance) * l.worth(c.Tier(), allowance))
	return remaining, min(worth, max(remaining, allowance))
}

// worth is what a waiter of the tier is given, in allowances. The
// queue is there to carry what fluctuates, and the more of a tier the gate sheds
// the less it matters if somebody of it is missing: the next one comes at once,
// and fresh. At ten times its capacity a service answered with a p99 of 150 ms
// without this and of 90 ms with it; in simulation goodput was the same, and
// that at the tight deadline better by half a point. A lane of few requests
// keeps what it takes to carry some.
//
// Better tiers than those that are shed are given more: the worse ones make room
// for them, so what waits of them is a burst that passes. In simulation t0 and t1
// lacked 3.0 points instead of 3.3 (4.4 instead of 4.7 in scenarios never tuned
// on), with as much goodput and the p99 3 % higher.
func (l *Lane) worth(tier int, allowance time.Duration) float64 {
	switch {
	case l.gate.boundary >= NumRanks:
		return 1
	case tier < l.gate.boundary/NumCohorts:
		return betterWorth
	}
	_, capacity := l.ratio.Rates()
	few := leastCarried / (capacity * allowance.Seconds())
	return min(1, max(leastWorth, min(mostWorth, 1-l.gate.ratio), few))
}

const (
	betterWorth  = 1.75 // seven twelfths of the time that a caller has left
	leastWorth   = 0.3
	mostWorth    = 0.5 // while the gate sheds
	leastCarried = 6   // requests, within the allowance
)

// patience is how long a caller waits who does not say.
func (l *Lane) patience() time.Duration {
	if l.cfg.Deadline > 0 {
		return l.cfg.Deadline
	}
	base := l.law.Baseline
	if base <= 0 {
		return time.Second
	}
	return min(max(10*base, 20*time.Millisecond), time.Second)
}
