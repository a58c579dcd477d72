package core

import (
	"time"

	"github.com/spillway-go/spillway/codel"
	"github.com/spillway-go/spillway/pid"
)

// Counters only ever grow, but for Overrun.
type Counters struct {
	Tiers   [NumTiers]TierCounters
	Wait    Histogram // sojourn of all that were admitted
	Service Histogram // of those that came out as a success
	Overrun int       // slots' worth of ghosts that run without a slot
}

// TierCounters: Arrived = Admitted + sum(Shed) + Left + waiting.
type TierCounters struct {
	Arrived  uint64
	Admitted uint64
	Left     uint64 // the caller went before the request ran
	Shed     [NumReasons]uint64
	Shadow   [NumReasons]uint64 // would have been shed, but ran
	Outcomes [NumOutcomes]uint64
}

// View is what a lane looks like at one moment.
type View struct {
	Counters
	Limit      int
	LimitState pid.LimitState
	Inflight   int
	Peak       int // most slots taken in the last tick
	Queued     [NumTiers]int
	HeadAge    [NumTiers]time.Duration
	Capacity   int // of the queue
	Mode       codel.Mode
	Pressure   float64 // oldest waiter's age over the allowance: above 1 the queue fails
	ShedRatio  float64
	Threshold  int     // rank at which the gate sheds; NumRanks: nobody
	Binding    string  // what asks for the shed ratio; "" when open
	Arrivals   float64 // per second, smoothed
	Throughput float64 // per second that the whole limit could let through
	Median     time.Duration
	Expected   time.Duration
}

// View fills v.
func (l *Lane) View(now time.Duration, v *View) {
	l.advance(now)
	v.Counters = l.count
	v.Limit, v.LimitState = l.slots, l.law
	v.Inflight, v.Peak = l.inflight, max(l.tick.peak, l.tick.peakSeen)
	oldest := time.Duration(0)
	for t := range NumTiers {
		v.Queued[t] = l.queue.LenTier(t)
		v.HeadAge[t] = l.queue.HeadAge(at(l.now), t)
		oldest = max(oldest, v.HeadAge[t])
	}
	v.Capacity, v.Mode = l.queue.Capacity(), l.queue.Mode()
	v.Pressure = oldest.Seconds() / max(l.allowance().Seconds(), 1e-9)
	v.ShedRatio, v.Threshold = l.gate.ratio, l.gate.boundary
	v.Binding = l.Binding()
	v.Arrivals, v.Throughput = l.ratio.Rates()
	v.Median, v.Expected = l.tick.median, l.Expected()
}

// Binding names what asked for the shed ratio in force: a signal, or the
// lane's own "queue"; "" when nothing is shed.
func (l *Lane) Binding() string { return l.binding }

// ShedRatio in force.
func (l *Lane) ShedRatio() float64 { return l.gate.ratio }

// Limit in force.
func (l *Lane) Limit() int { return l.slots }

// Bound tells whether the limit is what holds requests back: of late every slot was
// taken, or the lane rests.
func (l *Lane) Bound() bool { return l.law.Resting || max(l.tick.peak, l.tick.peakSeen) >= l.slots }

// LimitWhy is the last decision of the limit's law.
func (l *Lane) LimitWhy() string { return l.law.Why }

// Inflight is how many slots are taken.
func (l *Lane) Inflight() int { return l.inflight }

// Load is what stages are shown: slots taken, limit, waiters, and how full the
// lane is, 1 when every slot is taken, above 1 with waiters.
func (l *Lane) Load() (inflight, limit, queued int, pressure float64) {
	inflight, limit, queued = l.inflight, l.slots, l.queue.Len()
	return inflight, limit, queued, float64(inflight+queued) / float64(max(limit, 1))
}
