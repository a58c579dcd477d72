package core

import "time"

// grant gives free slots to the waiters. It is apart from serve to be inlined: mostly
// nobody waits.
func (l *Lane) grant() {
	if l.changed = false; l.queue.Len() > 0 {
		l.serve()
	}
}

// serve takes the waiters best first. Dead ones are passed over: no slot is spent on a
// caller who cannot use the answer any more.
func (l *Lane) serve() {
	l.expire()
	for {
		it := l.queue.Peek(at(l.now))
		if it == nil || !l.fits(it.Value.Cost) {
			return
		}
		l.queue.Pop(at(l.now))
		c := it.Value
		if due := l.due(c); due > 0 && l.now+l.tick.median > due {
			l.tick.lost++
			l.settleShed(c, ReasonDeadline)
			continue
		}
		l.tick.waited(c.sojourn(l.now))
		l.start(c)
		l.settle(c)
	}
}

func (c *Call) sojourn(now time.Duration) time.Duration { return max(0, now-c.Arrived) }

// Expire sheds the waiters whose allowance is over and gives what is free to
// the others. It should be called at NextExpiry, and after Reconfigure. Any other
// call changes nothing: what is decided must not depend on how often an owner
// looks.
func (l *Lane) Expire(now time.Duration) {
	l.advance(now)
	if l.expire() || l.changed {
		l.grant()
	}
}

// expire tells whether it shed anybody.
func (l *Lane) expire() (some bool) {
	for it := l.queue.Expire(at(l.now)); it != nil; it = l.queue.Expire(at(l.now)) {
		some = true
		l.tick.lost++
		l.settleShed(it.Value, ReasonQueueTimeout)
	}
	return some
}

// NextExpiry is when Expire has something to do; false while nobody waits.
func (l *Lane) NextExpiry() (time.Duration, bool) {
	if l.queue.Len() == 0 {
		return 0, false
	}
	t, ok := l.queue.NextExpiry()
	return t.Sub(epoch), ok
}

// shed refuses a call that is not in the queue.
func (l *Lane) shed(c *Call, why Reason) {
	c.State, c.Reason = Refused, why
	l.refused(c.Tier(), why, c.Ghost)
}

func (l *Lane) refused(tier int, why Reason, ghost bool) {
	if ghost {
		l.count.Tiers[tier].Shadow[why]++
	} else {
		l.count.Tiers[tier].Shed[why]++
	}
}

// settleShed refuses a call that waited, and has its owner told.
func (l *Lane) settleShed(c *Call, why Reason) {
	l.shed(c, why)
	l.settle(c)
}

// settle has the call's owner told. A ghost's waits for nothing.
func (l *Lane) settle(c *Call) {
	if c.Ghost {
		return
	}
	if l.settledTail == nil {
		l.settledHead = c
	} else {
		l.settledTail.settled = c
	}
	l.settledTail = c
}

// Settled hands over the calls that were settled while they waited, linked by
// Next, and forgets them. The owner reads a call's Next before he tells it.
func (l *Lane) Settled() *Call {
	head := l.settledHead
	l.settledHead, l.settledTail = nil, nil
	return head
}
