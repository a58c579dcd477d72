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
