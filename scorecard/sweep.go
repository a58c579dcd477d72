package scorecard

import "time"

// sweepStep is how many buckets are looked at under one locking: some
// microseconds, which requests then wait at most.
const sweepStep = 512

// Sweep forgets the values that hold nothing and were not used since the
// previous Sweep, and so makes room in a full table. Call it every few
// seconds, from any goroutine; an idle value is remembered for at least the
// time between two calls. The counts of rules stay. A value that shared the
// other bucket may then get a counter of its own, which begins at zero: its
// older holds stay where they were taken.
//
// If now is not after the previous call's, no time has passed: nothing is
// forgotten, and time goes on from now.
func (c *Card) Sweep(now time.Time) {
	c.mu.Lock()
	passed := now.After(c.mu.swept)
	c.mu.swept = now
	c.mu.Unlock()
	for from := 0; passed; from += sweepStep {
		passed = c.sweepStep(from)
	}
}

// sweepStep sweeps the buckets from from on, and reports whether more follow.
func (c *Card) sweepStep(from int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	dropped := c.mu.keep(from, from+sweepStep, func(n *counter) bool {
		used := n.used
		n.used = false
		return used || n.held > 0
	})
	if dropped > 0 {
		c.mu.forget()
	}
	return from+sweepStep < len(c.mu.buckets)
}
