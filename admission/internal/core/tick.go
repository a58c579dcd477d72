package core

import (
	"math"
	"time"

	"github.com/spillway-go/spillway/codel"
	"github.com/spillway-go/spillway/pid"
)

// TickPeriod is how often Tick should be called while the lane is not idle.
const TickPeriod = pid.TickPeriod

// ticks is what the lane measures between ticks, and what follows from it.
type ticks struct {
	area         float64 // slot-seconds used, total
	areaAt       time.Duration
	unseen       int           // changes of inflight since areaAt, at times not known
	levels       int           // sum of inflight before each of them
	typical      time.Duration // service time of the last success that was timed
	more         int           // successes since then that were not
	blocked      uint64        // arrivals that found no slot, total
	lost         uint64        // expired, evicted, refused by the queue, total
	in, rejected uint64        // past the gate, shed by it, total
	out          uint64        // granted, total
	turned       uint64        // refused before they came to the gate, total
	peak         int           // most slots taken since the last tick

	at     time.Duration // of the last tick
	inAt   uint64        // arrivals then
	turnAt uint64        // turned then
	outAt  uint64        // granted then
	busyAt time.Duration // of the last tick that was not idle
	gateAt time.Duration // of the gate's last tick
	gate   ticksSeen     // the totals then

	wait     float64 // smoothed sojourn of those granted, seconds
	left     float64 // smoothed ln of the seconds that newcomers to the queue had left
	leftSeen bool
	service  recent
	median   time.Duration // service time, lately
	lastDone time.Duration // a call came out
	barren   time.Duration // nothing came out well since then
	drought  time.Duration // how long that was, falling since
	idle     bool          // at the last tick, and nobody came since
	peakSeen int           // most slots taken in the tick before

	probeBegan bool // in the last tick
}

type ticksSeen struct {
	area                    float64
	lost, in, rejected, out uint64
}

// waited takes in the sojourn of a call granted from the queue.
func (t *ticks) waited(d time.Duration) { t.wait += 0.05 * (d.Seconds() - t.wait) }

// waits takes in how much of its deadline a newcomer to the queue has left. The
// mean is geometric, or a few callers of great patience would speak for all.
func (t *ticks) waits(left time.Duration) {
	if left <= 0 {
		return
	}
	ln := math.Log(min(left, time.Hour).Seconds())
	if !t.leftSeen {
		t.left, t.leftSeen = ln, true
	}
	t.left += 0.05 * (ln - t.left)
}

// Tick is the lane's loop: expire the queue, move the limit, set the gate,
// grant. chance is uniform in [0,1). It should come every TickPeriod; the
// order keeps limit and gate apart, which move on different time scales.
func (l *Lane) Tick(now time.Duration, chance float64) {
	l.advance(now)
	l.expire()
	if !l.Idle() || l.tick.turned != l.tick.turnAt {
		l.tick.busyAt = l.now
	}
	l.overdue()
	probing := l.law.Probing
	l.limit.Tick(l.now, l.usage(chance))
	l.follow()
	l.tick.probeBegan = l.law.Probing && !probing
	if dt := l.now - l.tick.gateAt; dt >= pid.RatioPeriod || l.tick.gateAt == 0 {
		l.tickGate(dt)
		l.measure(dt)
	}
	l.tick.peakSeen, l.tick.peak = l.tick.peak, l.inflight
	l.tick.idle = l.Idle()
	l.tick.dry(l.now, l.now-l.tick.at)
	l.pace.set(l.tick.in-l.tick.inAt+l.tick.turned-l.tick.turnAt, l.tick.out-l.tick.outAt, l.now-l.tick.at)
	l.tick.at, l.tick.inAt, l.tick.turnAt, l.tick.outAt = l.now, l.tick.in, l.tick.turned, l.tick.out
	l.grant()
}

func (l *Lane) usage(chance float64) pid.Usage {
	l.account()
	return pid.Usage{
		Area: l.tick.area, Blocked: l.tick.blocked, Lost: l.tick.lost,
		Deadline: l.deadline(), Chance: chance,
	}
}

// ProbeBegan tells whether the last tick began to measure at a lowered limit.
// The lane's owner then calls Join of all other lanes: they may share what is
// behind them.
func (l *Lane) ProbeBegan() bool { return l.tick.probeBegan }

// Join lets the lane measure too, see [pid.Joiner].
func (l *Lane) Join(now time.Duration) {
	if j, ok := l.limit.(pid.Joiner); ok {
		l.advance(now)
		j.Join(l.now, l.usage(0))
		l.follow()
	}
}

// TickedAt is when the last tick was.
func (l *Lane) TickedAt() time.Duration { return l.tick.at }

// IdleFor is how long no tick has found anything to do or to tell of: a lane all of
// whose requests a cap or a stage refuses is idle, but somebody may want to see it.
func (l *Lane) IdleFor() time.Duration { return l.now - l.tick.busyAt }

// tickGate sets the threshold from the larger of what the lane itself and the
// signals ask for.
func (l *Lane) tickGate(dt time.Duration) {
	t, was := &l.tick, l.tick.gate
	t.gate = ticksSeen{t.area, t.lost, t.in, t.rejected, t.out}
	t.gateAt = l.now
	if dt <= 0 {
		return
	}
	l.gate.decay(dt)
	limit := l.slots
	if l.law.Resting {
		limit = 0
	}
	rejected := t.rejected - was.rejected
	own := l.ratio.Tick(dt, pid.Flow{
		In: t.in - was.in - rejected, Rejected: rejected, Out: t.out - was.out, Lost: t.lost - was.lost,
		Inflight: (t.area - was.area) / dt.Seconds(), Limit: limit, Queued: l.queue.Len(),
		Allowance: l.allowance(), Probing: l.law.Probing, Applied: l.gate.ratio,
	})
	l.gate.set(own, l.signal)
	l.gate.load(l.ratio.Load())
	switch {
	case l.gate.ratio == 0:
		l.binding = ""
	case l.signal >= own:
		l.binding = l.signalWho
	default:
		l.binding = "queue"
	}
}

// allowance is how long a typical waiter may wait, less the jitter: what
// deadlines callers bring is measured, since the gate's law is about those.
func (l *Lane) allowance() time.Duration {
	return l.cfg.Queue.Allow(l.waiters(), l.queue.Mode() == codel.LIFO, 0.5)
}

// waiters is how long those in the queue are waited for, lately.
func (l *Lane) waiters() time.Duration {
	if l.tick.leftSeen {
		return time.Duration(math.Exp(l.tick.left) * float64(time.Second))
	}
	return l.patience()
}

// deadline is what the limit's law takes its tolerance from: the lane's own, or
// else the callers' as measured. Ten times the baseline, whatever the callers
// do, cost 1.4 % of goodput in the mean of 80 simulated services.
func (l *Lane) deadline() time.Duration {
	if l.cfg.Deadline > 0 {
		return l.cfg.Deadline
	}
	return l.waiters()
}

// serviceMemory is the time constant, in seconds, of what "lately" means for
// the median service time.
const serviceMemory = 10

func (l *Lane) measure(dt time.Duration) {
	t := &l.tick
	t.service.look(&l.count.Service, math.Exp(-dt.Seconds()/serviceMemory))
	t.median = t.service.quantile(0.5)
	l.costsChanged = l.costs.settle(t.median) || l.costsChanged
	if l.now-t.lastDone > max(time.Second, 2*t.median) {
		t.median = 0
	}
	if l.queue.Len() == 0 {
		t.wait *= math.Exp(-dt.Seconds())
	}
}

// Expected is how long a request that comes now would take: the wait if there
// is one, and the median service time. A request with less time left is dead
// on arrival. It is 0 while there are free slots, and while nothing came out
// for a second or two medians: an estimate nobody can confirm must not keep the
// lane shut.
func (l *Lane) Expected() time.Duration {
	switch {
	case l.queue.Len() == 0 && l.inflight < l.slots:
		return 0 // the median may be that of others: no reason to shed where there is room
	case l.queue.Len() == 0 || l.tick.median == 0:
		return l.tick.median
	}
	return l.tick.median + time.Duration(l.tick.wait*float64(time.Second))
}

// SetSignals tells the shed ratio that the signals ask for, and which asks
// for most. It takes effect at the next tick. A lane that is retired or closed
// hears none.
func (l *Lane) SetSignals(ratio float64, who string) {
	if l.closed {
		ratio, who = 0, ""
	}
	l.signal, l.signalWho = ratio, who
}

// Arrivals is how many came to the gate, in all.
func (l *Lane) Arrivals() uint64 { return l.tick.in }

// Idle tells whether ticks can pause: nobody runs or waits, nothing came since
// the last tick, and the gate is open.
func (l *Lane) Idle() bool {
	return l.inflight == 0 && l.count.Overrun == 0 && l.queue.Len() == 0 &&
		l.gate.ratio == 0 && l.signal == 0 && !l.law.Resting && l.tick.in == l.tick.inAt
}
