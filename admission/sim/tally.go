package sim

import (
	"time"

	"github.com/spillway-go/spillway/admission/internal/core"
)

// tally counts what becomes of attempts. Those of requests that began before
// the measured part do not count, but in the trace.
type tally struct {
	from, tight time.Duration
	tiers       [core.NumTiers]tierTally
	vain        uint64 // attempts that waited in vain
	seconds     []second

	trace Trace
	now   struct{ arrivals, retries, good int } // of the step of the trace

	before *core.Counters                         // when the measured part began
	shadow [core.NumTiers][core.NumReasons]uint64 // would have been shed, in the measured part

	limits float64 // sum of the limit over the ticks that count
	ticks  int
	until  time.Duration
}

type tierTally struct {
	requests, attempts, admitted, good, tight, late, left uint64

	shed    [core.NumReasons]uint64
	latency latencies // of the admitted
}

// second is what began in one second: what was asked and answered, by tier.
type second struct{ asked, good [core.NumTiers]int }

func newTally(s *Scenario) *tally {
	return &tally{
		from: seconds(s.MeasureFromS), until: seconds(s.DurationS), tight: millis(s.Client.TightDeadlineMS),
		seconds: make([]second, int(s.DurationS)+2),
	}
}

// tier is nil for an attempt that does not count.
func (t *tally) tier(a *attempt) *tierTally {
	if a.first < t.from {
		return nil
	}
	return &t.tiers[a.rank/core.NumCohorts]
}

// second is that in which an attempt's request began.
func (t *tally) second(a *attempt) *second {
	return &t.seconds[min(int(a.first/time.Second), len(t.seconds)-1)]
}

func (t *tally) asked(a *attempt) {
	t.now.arrivals++
	if a.retries > 0 {
		t.now.retries++
	}
	tier := t.tier(a)
	if tier == nil {
		return
	}
	tier.attempts++
	if a.retries == 0 {
		tier.requests++
		t.second(a).asked[a.rank/core.NumCohorts]++
	}
}

func (t *tally) good(a *attempt, latency time.Duration) {
	t.now.good++
	if tier := t.tier(a); tier != nil {
		tier.good++
		if latency <= t.tight {
			tier.tight++
		}
		t.second(a).good[a.rank/core.NumCohorts]++
	}
}

// took is an admitted attempt's latency, when it gives its slot back.
func (t *tally) took(a *attempt, latency time.Duration) {
	if tier := t.tier(a); tier != nil {
		tier.admitted++
		tier.latency.add(latency)
	}
}

func (t *tally) late(a *attempt) {
	if tier := t.tier(a); tier != nil {
		tier.late++
	}
}

func (t *tally) left(a *attempt) {
	if tier := t.tier(a); tier != nil {
		tier.left++
	}
}

func (t *tally) shed(a *attempt, why core.Reason) {
	if tier := t.tier(a); tier != nil {
		tier.shed[why]++
	}
}

func (t *tally) died(a *attempt) {
	if t.tier(a) != nil {
		t.vain++
	}
}

// TraceStep is the grain of a [Trace]: two ticks of a lane.
const TraceStep = 2 * core.TickPeriod

func (t *tally) tick(lane *core.Lane, now time.Duration) {
	if now > t.until {
		return
	}
	if now >= t.from {
		if t.before == nil {
			t.before = counters(lane, now)
		}
		t.limits += float64(lane.Limit())
		t.ticks++
	}
	if now%TraceStep == 0 {
		t.trace.Limit = append(t.trace.Limit, lane.Limit())
		t.trace.ShedRatio = append(t.trace.ShedRatio, lane.ShedRatio())
		t.trace.Arrivals = append(t.trace.Arrivals, t.now.arrivals)
		t.trace.Retries = append(t.trace.Retries, t.now.retries)
		t.trace.Good = append(t.trace.Good, t.now.good)
		t.now = struct{ arrivals, retries, good int }{}
	}
}

// would takes in what a lane in shadow would have shed.
func (t *tally) would(lane *core.Lane) {
	if t.before == nil {
		return
	}
	after := counters(lane, 0)
	for i := range t.shadow {
		for why := range t.shadow[i] {
			t.shadow[i][why] = after.Tiers[i].Shadow[why] - t.before.Tiers[i].Shadow[why]
		}
	}
}

func counters(lane *core.Lane, now time.Duration) *core.Counters {
	var v core.View
	lane.View(now, &v)
	return &v.Counters
}
