package core

import (
	"slices"
	"testing"
	"time"

	"github.com/spillway-go/spillway/codel"
)

// reference decides over calls as a lane should, by going through plain slices. What the
// laws have found it takes from the lane: limit, rest, probe, median, allowances, the
// gate's threshold. It is asked after the lane, and then compares.
type reference struct {
	t               testing.TB
	lane            *Lane
	closed, changed bool
	touched         time.Duration // when the queue was last used while somebody waited
	queue           []*awaited    // in order of arrival
	runs            []*Call       // in order of their start
	tiers           [NumTiers]struct {
		since, last time.Duration // since when somebody waits; the allowance given last
		mode        codel.Mode
	}
	want map[*Call]verdict

	grants                     [2]int // from the queue, by mode
	shed                       [NumReasons]int
	relieved, probed, reserved int
}

type awaited struct {
	c               *Call
	from, allowance time.Duration
}

type verdict struct {
	state State
	why   Reason
}

func newReference(t testing.TB, l *Lane) *reference {
	return &reference{t: t, lane: l, want: map[*Call]verdict{}}
}

// add counts what another one saw.
func (r *reference) add(other *reference) {
	r.grants[codel.FIFO] += other.grants[codel.FIFO]
	r.grants[codel.LIFO] += other.grants[codel.LIFO]
	r.probed += other.probed
	r.relieved += other.relieved
	r.reserved += other.reserved
	for why, n := range other.shed {
		r.shed[why] += n
	}
}

// compare holds all calls against what is wanted of them.
func (r *reference) compare(what string) {
	for c, want := range r.want {
		if got := (verdict{c.State, c.Reason}); got.state != want.state || want.state == Refused && got.why != want.why {
			r.t.Fatalf("%s at %v: tier %d, cost %d, due %v: state %d, reason %v; want %d, %v",
				what, r.lane.now, c.Tier(), c.Cost, c.Deadline, got.state, got.why, want.state, want.why)
		}
		if want.state == Refused {
			delete(r.want, c)
		}
	}
}

func (r *reference) refuse(c *Call, why Reason) {
	r.want[c] = verdict{Refused, why}
	r.shed[why]++
}

func (r *reference) run(c *Call) {
	r.want[c] = verdict{state: Running}
	r.runs = append(r.runs, c)
	if r.lane.law.Probing {
		r.probed++
	}
}

// forget takes a call out of wherever it is.
func (r *reference) forget(c *Call) {
	delete(r.want, c)
	r.runs, _ = remove(r.runs, c)
	if i := slices.IndexFunc(r.queue, func(w *awaited) bool { return w.c == c }); i >= 0 {
		r.dequeue(r.queue[i])
	}
}

func (r *reference) fits(cost int) bool {
	used := 0
	for _, c := range r.runs {
		used += c.Cost
	}
	return !r.lane.law.Resting && (used == 0 || used+cost <= r.lane.slots)
}

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

// allowed checks how long a newcomer may wait: less than the law says only if the gate
// sheds of his tier or better ones, more only if it sheds worse ones alone.
func (r *reference) allowed(c *Call, chance float64) {
	remaining := r.lane.patience()
	if c.Deadline > 0 {
		remaining = c.Deadline - r.lane.now
	}
	lawful := r.lane.cfg.Queue.Allow(remaining, r.standing(c.Tier(), r.touched), chance)
	least, most, boundary := lawful, lawful, r.lane.gate.boundary
	switch {
	case c.Tier() >= boundary/NumCohorts:
		least = time.Duration(leastWorth * float64(lawful))
	case boundary < NumRanks:
		least = min(time.Duration(betterWorth*float64(lawful)), max(remaining, lawful))
		most = least
	}
	if got := c.item.Allowance; got < least || got > most {
		r.t.Fatalf("tier %d may wait for %v, must be %v to %v: the law says %v, the gate sheds from %d on", c.Tier(), got, least, most, lawful, boundary)
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

// offered: while slots are free and nobody waits only what signals ask for is shed.
func (r *reference) offered(rank int, hash uint32, shed bool) {
	used, g := 0, &r.lane.gate
	for _, c := range r.runs {
		used += c.Cost
	}
	above := func(t threshold) bool { return rank > t.boundary || rank == t.boundary && hash < t.cut }
	room := len(r.queue) == 0 && !r.lane.law.Resting && 4*used < 3*r.lane.slots
	if want := above(g.threshold) && (!room || above(g.must)); shed != want {
		r.t.Fatalf("rank %d of %d: shed is %v, room %v", rank, g.boundary, shed, room)
	}
	if shed {
		r.shed[ReasonPriority]++
	} else if above(g.threshold) {
		r.reserved++
	}
	if (g.boundary == NumRanks) != (g.ratio == 0) || g.must.boundary < g.boundary || !(g.ratio >= 0 && g.ratio < 1) {
		r.t.Fatalf("ratio %v sheds from rank %d on, from %d on in any case", g.ratio, g.boundary, g.must.boundary)
	}
}

// arrived is told the cost that was asked for.
func (r *reference) arrived(c *Call, cost int, chance float64, wait bool) {
	if c.Cost != min(cost, r.lane.slots) {
		r.t.Fatalf("cost %d of %d counts as %d", cost, r.lane.slots, c.Cost)
	}
	first := !slices.ContainsFunc(r.queue, func(w *awaited) bool { return w.c.Tier() <= c.Tier() })
	switch {
	case r.closed:
		r.refuse(c, ReasonClosed)
	case first && r.fits(c.Cost):
		r.run(c)
	case !wait:
		r.refuse(c, ReasonLimit)
	default:
		r.enqueue(c, chance)
	}
	r.compare("Arrive")
}

// ended is told the state in which the call was, by what the oracle wanted.
func (r *reference) ended(c *Call, out Outcome) {
	was := r.want[c].state
	r.forget(c)
	late := r.lane.now - c.Deadline
	gaveUp := out == Overload && c.Deadline > 0 && late >= 0 && late < TickPeriod
	if c.Ghost && was != Waiting && was != Running && !gaveUp && out != Ignore &&
		len(r.runs) > 0 && r.runs[0].Ghost && !r.runs[0].Stream {
		r.forget(r.runs[0])
		r.relieved++
	}
	r.grant()
	r.compare("Release")
}

func (r *reference) left(c *Call) {
	r.forget(c)
	r.grant()
	r.compare("Leave")
}

func (r *reference) expired() {
	if r.expire() || r.changed {
		r.grant()
	}
	r.compare("Expire")
}

// ticked: the queue expires by the old limit, and is granted from by the new one.
func (r *reference) ticked() {
	r.expire()
	r.grant()
	r.compare("Tick")
}

func (r *reference) close() {
	r.closed = true
	for _, w := range slices.Clone(r.queue) {
		r.dequeue(w)
		r.refuse(w.c, ReasonClosed)
	}
	r.compare("Close")
}
