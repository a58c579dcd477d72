// Package codel is a bounded priority queue for requests that wait for a slot:
// what waits, in which order it is served, who gives way when the queue is
// full, and how long each may wait before it is shed.
//
// # Order
//
// The best tier goes first. Within a tier the queue is FIFO while it is calm,
// which is fair, and LIFO under a standing queue, because then the oldest
// waiter is the one whose caller is about to give up: serving it is likely to
// be work for nobody, while the newest can still be answered in good time. This
// is adaptive LIFO (Ben Maurer, "Fail at Scale", ACM Queue 13(8), 2015). A
// tier's queue becomes standing once it has been non-empty for longer than a
// window, and stays so until it empties: without that hysteresis it would flip
// with every short lull and be neither fair nor fresh. Each tier goes by itself:
// the best one, of which all are served, is no standing queue because a worse
// one behind it is.
//
// # Allowance
//
// Each waiter has an allowance and expires when its sojourn time reaches it.
// [Config.Allow] gives three laws. "deadline" allows a third of what remains of
// the request's deadline, so that the rest is left for the work itself. "tight"
// allows no more than a tenth under a standing queue: what is served is fresh
// and retries come evenly, for some points of goodput in bursts. "codel"
// allows Interval while the queue is calm and Target under a standing queue,
// the pair of CoDel (Nichols & Jacobson, "Controlled Queue Delay", ACM Queue
// 10(5), 2012, and RFC 8289) in the form the article above gives it for
// request queues. All are spread by a number the caller draws, so that waiters
// which came together do not leave, and retry, together.
//
// # Use
//
// The queue is pure: no goroutine, lock, clock, timer or randomness. Time comes
// in as now, and its owner holds one lock around every call. Whenever it looks
// at the queue the owner first drains what expired, then serves:
//
//	for it := q.Expire(now); it != nil; it = q.Expire(now) {
//		shed(it)
//	}
//	for free > 0 {
//		it := q.Pop(now)
//		…
//	}
//	if at, ok := q.NextExpiry(); ok {
//		timer.Reset(at.Sub(now)) // one timer for the whole queue
//	}
//
// Push, Pop and Remove take constant time whatever is queued, and nothing is
// allocated after [New]: links are inside the items, and expiry is kept in a
// hierarchical timing wheel.
package codel
