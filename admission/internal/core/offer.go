package core

// Offer is the gate: it counts an arrival and tells whether its rank is shed.
// It needs no clock. A ghost is counted and let through.
//
// While slots are free and nobody waits, the lane's own ratio sheds nobody, only
// that of signals does: a ratio is late by a second or more, and after a burst or
// a stop it would shed what could run at once. A quarter of the slots is kept for
// the ranks that pass in any case (trunk reservation, as telephone exchanges have
// it): without that, the last free slot goes to whoever comes first, and in
// simulation t0 and t1 lost 0.5 % of their answers in the mean, up to 7 %.
func (l *Lane) Offer(rank int, hash uint32, ghost bool) (shed bool) {
	l.tick.in++
	l.count.Tiers[rank/NumCohorts].Arrived++
	if !l.gate.offer(rank, hash) || l.roomy() && !l.gate.must.sheds(rank, hash) {
		return false
	}
	l.tick.rejected++
	l.refused(rank/NumCohorts, ReasonPriority, ghost)
	return true
}

// Divided tells whether the gate lets a part of a rank through, so that Offer must
// know the call's hash.
func (l *Lane) Divided(rank int) bool {
	return rank == l.gate.boundary || rank == l.gate.must.boundary
}

// TurnAway tells whether a call that passed the gate and does not wait finds no slot.
// If so it is counted as Arrive would have done, which needs neither the call nor a
// time; if not, nothing has happened.
func (l *Lane) TurnAway(rank, cost int) bool {
	if l.closed || l.tick.idle || l.fits(cost) {
		return false
	}
	l.tick.blocked++
	l.tick.lost++
	l.refused(rank/NumCohorts, ReasonLimit, false)
	return true
}

func (l *Lane) roomy() bool {
	return l.queue.Len() == 0 && !l.law.Resting && 4*l.inflight < 3*l.slots
}
