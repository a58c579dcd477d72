package core

import (
	"slices"
	"time"

	"github.com/spillway-go/spillway/codel"
)

func (r *reference) waiting(tier int) (waiters []*awaited) {
	for _, w := range r.queue {
		if w.c.Tier() == tier {
			waiters = append(waiters, w)
		}
	}
	return waiters
}

// standing tells whether a tier is served newest first as of a time: somebody of it has
// waited at any moment for longer than a healthy queue takes to empty.
func (r *reference) standing(tier int, at time.Duration) bool {
	t, window := &r.tiers[tier], r.tiers[tier].last
	if cfg := r.lane.cfg.Queue.WithDefaults(); cfg.Law == codel.LawCoDel {
		window = cfg.Interval
	}
	return t.mode == codel.LIFO || len(r.waiting(tier)) > 0 && at-t.since > window
}

// touch lets time pass for the queue.
func (r *reference) touch() {
	r.touched = r.lane.now
	for tier := range r.tiers {
		if r.standing(tier, r.lane.now) {
			r.tiers[tier].mode = codel.LIFO
		}
	}
}

func (r *reference) enqueue(c *Call, chance float64) {
	tier, now := c.Tier(), r.lane.now
	capacity := r.lane.cfg.Queue.Capacity
	if capacity == 0 {
		capacity = max(codel.DefaultCapacity, 4*r.lane.slots)
	}
	var oldest *awaited // of the worst tier
	for _, w := range r.queue {
		if oldest == nil || w.c.Tier() > oldest.c.Tier() {
			oldest = w
		}
	}
	full := len(r.queue) >= capacity
	if full && oldest.c.Tier() < tier {
		if !r.lane.blind {
			r.touch()
		}
		r.refuse(c, ReasonQueueFull)
		return
	}
	r.allowed(c, chance)
	r.touch()
	if len(r.waiting(tier)) == 0 {
		r.tiers[tier].since, r.tiers[tier].mode = now, codel.FIFO
	}
	r.tiers[tier].last = c.item.Allowance
	r.queue = append(r.queue, &awaited{c, now, c.item.Allowance})
	r.want[c] = verdict{state: Waiting}
	if full {
		r.dequeue(oldest)
		r.refuse(oldest.c, ReasonEvicted)
	}
}

// allowed checks how long a newcomer may wait: less than the law says only where his
// tier and better ones ask for much, more only where they do not and the gate sheds.
func (r *reference) allowed(c *Call, chance float64) {
	remaining := r.lane.patience()
	if c.Deadline > 0 {
		remaining = c.Deadline - r.lane.now
	}
	lawful := r.lane.cfg.Queue.Allow(remaining, r.standing(c.Tier(), r.touched), chance)
	least, most, load, boundary := lawful, lawful, r.lane.gate.loads[c.Tier()], r.lane.gate.boundary
	switch {
	case load > passingLoad:
		least = time.Duration(leastWorth * float64(lawful))
	case boundary < NumRanks && c.Tier() < boundary/NumCohorts:
		least = min(time.Duration(betterWorth*float64(lawful)), max(remaining, lawful))
		most = least
	}
	if got := c.item.Allowance; got < least || got > most {
		r.t.Fatalf("tier %d may wait for %v, must be %v to %v: the law says %v, the load is %v, the gate sheds from %d on", c.Tier(), got, least, most, lawful, load, boundary)
	}
}

func (r *reference) dequeue(w *awaited) {
	i := slices.Index(r.queue, w)
	r.queue = slices.Delete(r.queue, i, i+1)
	if tier := w.c.Tier(); len(r.waiting(tier)) == 0 {
		r.tiers[tier].mode = codel.FIFO
	}
}

// expire sheds whose allowance is over; in its last millisecond the lane may choose.
func (r *reference) expire() (some bool) {
	if len(r.queue) == 0 {
		return false
	}
	r.touch()
	for _, w := range slices.Clone(r.queue) {
		over := r.lane.now - w.from - w.allowance
		if over >= ms || over >= 0 && w.c.State == Refused && w.c.Reason == ReasonQueueTimeout {
			r.dequeue(w)
			r.refuse(w.c, ReasonQueueTimeout)
			some = true
		}
	}
	return some
}

// grant serves the best tier first, in its order, for as long as slots are free.
func (r *reference) grant() {
	r.changed = false
	r.expire()
	for len(r.queue) > 0 {
		var next *awaited
		for tier := NumTiers - 1; tier >= 0; tier-- {
			if waiters := r.waiting(tier); len(waiters) > 0 {
				next = waiters[0]
				if r.tiers[tier].mode == codel.LIFO {
					next = waiters[len(waiters)-1]
				}
			}
		}
		if !r.fits(next.c.Cost) {
			return
		}
		mode := r.tiers[next.c.Tier()].mode
		r.dequeue(next)
		if due := r.due(next.c); due > 0 && r.lane.now+r.lane.tick.median > due {
			r.refuse(next.c, ReasonDeadline)
			continue
		}
		r.run(next.c)
		r.grants[mode]++
	}
}

func (r *reference) due(c *Call) time.Duration {
	if c.Deadline == 0 && r.lane.cfg.Deadline > 0 {
		return c.Arrived + r.lane.cfg.Deadline
	}
	return c.Deadline
}
