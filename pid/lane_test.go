package pid_test

import (
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/pid"
)

// lane drives a law in virtual time as its owner would: it ticks, shows the law
// what came out and adds up how the limit was used.
type lane struct {
	t    testing.TB
	law  pid.Limit
	now  time.Duration
	step time.Duration // between ticks
	use  pid.Usage
	owed float64 // samples due that are less than one
}

func newLane(t testing.TB, cfg pid.LimitConfig) *lane {
	t.Helper()
	law, err := pid.NewLimit(cfg)
	if err != nil {
		t.Fatal(err)
	}
	l := &lane{t: t, law: law, step: pid.TickPeriod}
	l.use.Chance = 0.5
	l.law.Tick(0, l.use)
	return l
}

// flow is what a lane does for a while.
type flow struct {
	rate     float64       // completions per second
	service  time.Duration // of each
	overload float64       // overloads per second, besides
	busy     float64       // slots taken; the samples' inflight too
	blocked  bool          // arrivals find no slot
	losing   bool          // the queue loses somebody
}

// run does f for a while.
func (l *lane) run(d time.Duration, f flow) {
	l.runAs(d, func(int) flow { return f })
}

// runAs does what a back end answers to the limit in force, for a while.
func (l *lane) runAs(d time.Duration, backend func(limit int) flow) {
	var failed float64
	for end := l.now + d; l.now < end; {
		f := backend(l.law.Limit())
		sec := l.step.Seconds()
		l.now += l.step
		l.use.Area += f.busy * sec
		if f.blocked {
			l.use.Blocked++
		}
		if f.losing {
			l.use.Lost++
		}
		for l.owed += f.rate * sec; l.owed >= 1; l.owed-- {
			l.law.Observe(pid.Sample{Service: f.service, Inflight: int(f.busy)})
		}
		for failed += f.overload * sec; failed >= 1; failed-- {
			l.law.Observe(pid.Sample{Service: f.service, Inflight: int(f.busy), Overload: true})
		}
		l.law.Tick(l.now, l.use)
	}
}

// measured runs until the law neither probes nor tries another limit.
func (l *lane) measured(backend func(limit int) flow) {
	for l.state().Probing || strings.HasPrefix(l.state().Why, "trial: does") {
		l.runAs(l.step, backend)
	}
}

func (l *lane) state() pid.LimitState { return l.law.(pid.Explainer).State() }

// limitIs asserts the limit within a band.
func (l *lane) limitIs(why string, from, to int) {
	l.t.Helper()
	if got := l.law.Limit(); got < from || got > to {
		l.t.Errorf("%s: limit is %d, want %d to %d (%+v)", why, got, from, to, l.state())
	}
}

// full is a lane that is offered more than its limit: every slot is taken,
// whatever the limit, and the queue overflows.
func full(rate float64, service time.Duration) func(int) flow {
	return func(limit int) flow {
		return flow{rate: rate, service: service, busy: float64(limit), blocked: true, losing: true}
	}
}

// servers is a saturated back end of n servers with a queue of its own: slots
// beyond n add waiting and nothing else.
func servers(n float64, service time.Duration) func(int) flow {
	return func(limit int) flow {
		wait := max(1, float64(limit)/n)
		return full(min(float64(limit), n)/service.Seconds(), time.Duration(wait*float64(service)))(limit)
	}
}
