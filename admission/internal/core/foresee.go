package core

import "time"

// Prospect is what Offer and Arrive would make of a call, and the numbers that
// decide it.
type Prospect struct {
	Ratio     float64 // the gate's
	Threshold int     // rank at which it sheds; NumRanks: nobody
	Binding   string  // what asks for the ratio
	Share     float64 // of the call's rank that the gate sheds now; between 0 and 1 its hash decides
	Room      bool    // slots are free, so that only what signals ask for is shed
	Shed      bool    // by the gate

	State    State // what Arrive would return if the gate lets it pass
	Reason   Reason
	Inflight int
	Limit    int
	Resting  bool
	Cost     int // as counted: at most the limit
	Queued   int
	Capacity int
	Evicts   bool          // a waiter would give way to it
	Wait     time.Duration // what those granted from the queue waited lately
	Allow    time.Duration // how long it could wait, but for the jitter
}

// Foresee tells what would become of a call that comes now and may wait. It
// changes nothing, not even the lane's time.
func (l *Lane) Foresee(now time.Duration, c Call, hash uint32) Prospect {
	now = max(now, l.now)
	c.Cost = min(c.Cost, l.slots)
	p := Prospect{
		Ratio: l.gate.ratio, Threshold: l.gate.boundary, Binding: l.binding, Room: l.roomy(),
		Inflight: l.inflight, Limit: l.slots, Resting: l.law.Resting, Cost: c.Cost,
		Queued: l.queue.Len(), Capacity: l.queue.Capacity(),
	}
	p.Share, p.Shed = l.gate.share(c.Rank), l.gate.sheds(c.Rank, hash)
	if p.Room {
		p.Share = min(p.Share, l.gate.must.share(c.Rank))
		p.Shed = p.Shed && l.gate.must.sheds(c.Rank, hash)
	}
	switch {
	case l.closed:
		p.State, p.Reason = Refused, ReasonClosed
	case l.first(&c) && l.fits(c.Cost):
		p.State = Running
	case l.packed(c.Tier()):
		p.State, p.Reason = Refused, ReasonQueueFull
	default:
		p.State, p.Evicts = Waiting, p.Queued >= p.Capacity
		p.Wait = time.Duration(l.tick.wait * float64(time.Second))
		_, p.Allow = l.allow(now, &c, 0.5)
	}
	return p
}

// share of a rank that is shed.
func (t threshold) share(rank int) float64 {
	switch {
	case rank < t.boundary:
		return 0
	case rank > t.boundary:
		return 1
	}
	return float64(t.cut) / (1 << 32)
}
