package core

// Precheck tells whether a call of a rank would be shed now, whatever else there
// is to be known of it, and why. If so it is counted as Offer and Arrive would have;
// if not, nothing has happened. At the gate's boundary it is the hash that decides,
// and only once for each call, so those pass.
func (l *Lane) Precheck(rank int) (why Reason, shed bool) {
	switch {
	case rank > l.gate.boundary && (!l.roomy() || rank > l.gate.must.boundary):
		why = ReasonPriority
	case rank >= l.gate.boundary:
		return 0, false
	case l.closed:
		why = ReasonClosed
	case l.full(rank / NumCohorts):
		why = ReasonQueueFull
		l.tick.blocked++
		l.tick.lost++
	default:
		return 0, false
	}
	if !l.Offer(rank, 0, false) {
		l.refused(rank/NumCohorts, why, false)
	}
	return why, true
}

// full tells whether a call of a tier finds neither a slot nor a place in the
// queue: waiters of its own tier and of worse ones would give theirs.
func (l *Lane) full(tier int) bool {
	return l.packed(tier) && (l.queue.Len() > 0 || !l.fits(1))
}

// packed tells whether the queue has no place for a call of a tier.
func (l *Lane) packed(tier int) bool {
	if l.queue.Len() < l.queue.Capacity() {
		return false
	}
	for t := tier; t < NumTiers; t++ {
		if l.queue.LenTier(t) > 0 {
			return false
		}
	}
	return true
}
