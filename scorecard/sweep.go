package scorecard

import (
	"time"

	"github.com/spillway-go/spillway/internal/spin"
)

// step is how many buckets are walked through under one locking: some
// microseconds, which requests then wait. With fewer the walk itself would wait more
// often, where many compete for the lock.
const step = 128

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
	c.walks.Lock()
	defer c.walks.Unlock()
	c.mu.Lock()
	passed := now.After(c.mu.swept)
	c.mu.swept = now
	// A counter that a verdict of the memo is made with from here on is used, and is
	// not dropped: it need not be forgotten with every step.
	c.mu.forget()
	c.mu.Unlock()
	if !passed {
		return
	}
	dropped := 0
	c.walk(func(from, to int) {
		dropped += c.mu.keep(from, to, func(n *counter) bool {
			used := n.used
			n.used = false
			return used || n.held > 0
		})
	})
	if dropped > 0 { // there is room now for who was told that there is none
		c.mu.Lock()
		c.mu.forget()
		c.mu.Unlock()
	}
}

// walk calls do with all buckets, some at a time, under the lock.
func (c *Card) walk(do func(from, to int)) {
	buckets := len(c.mu.buckets)
	for from := 0; from < buckets; from += step {
		c.mu.Lock()
		do(from, min(from+step, buckets))
		c.mu.Unlock()
		spin.Rest()
	}
}

// move has the table use other rows, whose counters follow some at a time.
func (c *Card) move(to rows) {
	c.mu.Lock()
	c.mu.beginMove(to)
	kinds := c.mu.kinds
	c.mu.Unlock()
	some := max(step*kinds/uint64(len(c.mu.buckets)), 1)
	for k := uint64(0); k < kinds; k += some {
		c.mu.Lock()
		c.mu.table.move(min(k+some, kinds))
		c.mu.Unlock()
		spin.Rest()
	}
	c.mu.Lock()
	c.mu.endMove()
	c.mu.Unlock()
}
