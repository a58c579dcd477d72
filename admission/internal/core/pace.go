package core

import (
	"math"
	"time"
)

// Untimed stands for a time that was not read. The lane goes on at the last one it
// was told, which is a tick's at the oldest; where a wait begins or may end it must
// be told the time.
const Untimed time.Duration = math.MinInt64

// pace chooses the calls whose time is measured. Two readings of a clock can cost
// as much as all else that is done for a request; and what the laws, the median and
// the histogram make of service times is as good from a thousand of them a tick as
// from a hundred thousand. Up to that many all are timed. Above it one in so many
// is, by chance: at even distances the long ones among them would end after others
// sooner than the short ones, and stand for fewer.
type pace struct {
	stride int  // one in so many
	rush   bool // so many arrive that most readings of a clock would be for nothing
	skip   int  // calls until the next
	random uint64
}

// timedPerTick is how many calls a tick are timed at least, if so many come: the
// shortest window of a law is two ticks, and its mean then known to 2 %.
const timedPerTick = 1000

// set makes the stride from how many arrived and how many of them got their slots
// in the time since the last tick.
func (p *pace) set(arrived, granted uint64, dt time.Duration) {
	if dt <= 0 {
		return
	}
	perTick := TickPeriod.Seconds() / dt.Seconds() / timedPerTick
	p.rush = float64(arrived)*perTick >= 2
	p.stride = int(min(max(float64(granted)*perTick, 1), 1e6))
	p.skip = min(p.skip, p.stride)
}

// next tells whether one more call is to be timed.
func (p *pace) next() bool {
	if p.skip--; p.skip > 0 {
		return false
	}
	p.skip = 1
	if p.stride > 1 { // the geometric distribution of that mean
		p.random = p.random*6364136223846793005 + 1442695040888963407 // Knuth's MMIX
		chance := (float64(p.random>>11) + 0.5) / (1 << 53)
		p.skip += int(math.Log(chance) / math.Log1p(-1/float64(p.stride)))
	}
	return true
}

// Rush tells whether so many arrive that it is better to ask Timed before the time
// is read.
func (l *Lane) Rush() bool { return l.pace.rush }

// Timed tells whether the next Arrive, of this call, is to be told the time: because
// the call is one of those that are timed, or because it may have to wait. Without a
// rush every one is.
func (l *Lane) Timed(c *Call, wait bool) bool {
	switch {
	case c.Ghost || !l.pace.rush:
		c.Untimed = false
		return true
	case l.queue.Len() == 0 && l.fits(c.Cost):
		c.Untimed = !l.pace.next()
		return !c.Untimed
	case !wait || l.packed(c.Tier()):
		c.Untimed = true // if it runs, past waiters of worse tiers
		return false
	}
	c.Untimed = !l.pace.next()
	return true
}

// Awaited tells whether anybody waits, so that Release is to be told the time.
func (l *Lane) Awaited() bool { return l.queue.Len() > 0 }
