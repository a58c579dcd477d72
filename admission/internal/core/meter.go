package core

import (
	"math"
	"time"
)

// Reading is what a lane's load is told from; all but Limit are totals.
type Reading struct {
	Limit   int
	Area    float64 // slot-seconds used
	Arrived uint64
	Shed    uint64
	Failed  uint64 // ran and came out as overload or failure
}

// Reading takes one. Requests shed by a cap or a keyed signal are left out: they
// are refused for their actor's sake, would be elsewhere too, and cost next to
// nothing, so that to count them would make the replica look fast, or full.
// It adds up some hundred counters, which is nothing for a request's way.
func (l *Lane) Reading(now time.Duration) Reading {
	l.advance(now)
	r := Reading{Limit: l.slots, Area: l.used()}
	for i := range l.count.Tiers {
		t := &l.count.Tiers[i]
		capped := t.Shed[ReasonTenantCap] + t.Shed[ReasonKeyed]
		r.Arrived += t.Arrived - capped
		r.Shed -= capped // it is in the sum that follows
		for _, n := range t.Shed {
			r.Shed += n
		}
		r.Failed += t.Outcomes[Overload] + t.Outcomes[Failure]
	}
	return r
}

const (
	// meterMemory is the time constant of a Meter. Clients take up weights about
	// once a second: slower than that, a replica goes on being sent what it
	// sheds; faster, its weight follows single requests.
	meterMemory = time.Second

	// leastUtilization stands for none, which readers take for not known. It is
	// far below what one short request makes of a second, because replicas that
	// all stood at a floor would look alike.
	leastUtilization = 1e-6

	// fullShed is the share shed, and fullShedRate how many per second, from which
	// a lane counts as full however many of its slots are used. Below them it is
	// in proportion: a single request that was shed does not make a replica
	// look full, nor do those of a time that is long over.
	fullShed     = 0.01
	fullShedRate = 1

	// mostShed bounds the share from which a demand is told: of a lane that
	// sheds all, nobody knows it.
	mostShed = 0.99
)

// Meter turns a lane's readings into rates and a utilization. It keeps sums of
// their differences that fade with meterMemory, and tells ratios of those, which
// are right from the first difference on. The zero Meter has seen nothing.
type Meter struct {
	last Reading

	seconds, area, slots  float64 // slots: slot-seconds that there were
	arrived, shed, failed float64
}

// Look takes in a reading that comes dt after the one before.
func (m *Meter) Look(dt time.Duration, r Reading) {
	was := m.last
	m.last = r
	if dt <= 0 {
		return
	}
	s := dt.Seconds()
	fade := math.Exp(-s / meterMemory.Seconds())
	add := func(sum *float64, more float64) { *sum = *sum*fade + more }
	add(&m.seconds, s)
	add(&m.slots, float64(r.Limit)*s)
	add(&m.area, r.Area-was.Area)
	add(&m.arrived, float64(r.Arrived-was.Arrived))
	add(&m.shed, float64(r.Shed-was.Shed))
	add(&m.failed, float64(r.Failed-was.Failed))
}

// Rates are how many requests per second came, and how many of them were shed
// or failed.
func (m *Meter) Rates() (arrivals, errors float64) {
	if m.seconds == 0 {
		return 0, 0
	}
	return m.arrived / m.seconds, (m.shed + m.failed) / m.seconds
}

// Utilization is the demand as a multiple of what the lane can do: the share of
// slots used, by Little's law arrivals times service time over the limit, for
// all that arrived and not only for those that were let in. So it is above 1
// while the lane sheds, whatever for, and arrivals over Utilization is what the
// lane can do per second, overloaded or not. It is never 0.
func (m *Meter) Utilization() float64 {
	if m.seconds == 0 || m.slots == 0 {
		return leastUtilization
	}
	used, shed := m.area/m.slots, 0.0
	if m.arrived > 0 {
		shed = min(m.shed/m.arrived, mostShed)
	}
	full := min(1, shed/fullShed, m.shed/m.seconds/fullShedRate)
	return max(leastUtilization, max(used, full)/(1-shed))
}
