package sim

import (
	"time"

	"github.com/spillway-go/spillway/admission/internal/core"
)

// engine is one run.
type engine struct {
	scenario Scenario
	deadline time.Duration // of every attempt of which the log says none
	end      time.Duration // arrivals stop

	now      time.Duration
	lane     *core.Lane
	stations []*station
	arrivals poisson
	log      []Logged // in place of arrivals: those still to come
	tally    *tally
	blind    bool // nothing is refused for what it would take
	ghosts   bool // everything runs, whatever the lane decides

	events  heap[int64, event]
	arrival time.Duration // the next of the open loop
	tick    time.Duration // the next of the lane

	expected time.Duration // what a request takes, as of the last tick
	hint     time.Duration // what those shed are told to wait in the mean, likewise
	open     int           // requests that are not over
	numbered uint64        // requests so far
	tiers    []float64
	sized    bool // sizes of requests matter
	free     *attempt

	requests, works, chance, patience stream
}

// event is something that happens to an attempt.
type event struct {
	kind eventKind
	a    *attempt
	gen  uint32
}

type eventKind uint8

const (
	giveUp   eventKind = iota // its deadline passes
	comeBack                  // its client tries again
)

func newEngine(s Scenario, lane *core.Lane, blind bool) *engine {
	seed := stream{s.Seed}
	e := &engine{
		scenario: s, deadline: millis(s.Client.DeadlineMS), end: seconds(s.DurationS),
		lane: lane, blind: blind, tiers: cumulate(s.TierMix), tally: newTally(&s),
		arrivals: newPoisson(s.Load, s.CapacityRPS, s.DurationS, seed.fork(0)),
		requests: seed.fork(1), works: seed.fork(2), chance: seed.fork(3), patience: seed.fork(4),
	}
	for i, spec := range s.Backend {
		e.stations = append(e.stations, newStation(spec, s.SizeSigma, seed.fork(5).fork(uint64(i))))
		e.sized = e.sized || s.SizeSigma > 0 || spec.SizeSigma > 0
	}
	e.log = s.Requests
	e.arrival = e.next()
	for range s.Load.ClosedClients {
		e.open++
		e.later(e.think(), request{closed: true})
	}
	return e
}

// run lets everything happen until no client waits for anything. What still
// runs then is of no use to anybody.
func (e *engine) run() {
	for e.arrival < never || e.open > 0 {
		e.step()
	}
}

// step lets the next thing happen. Of several at one moment an end of service
// comes first, so that an answer in the last moment is in time.
func (e *engine) step() {
	due, station := never, (*station)(nil)
	for _, s := range e.stations {
		if t := min(s.done, s.change); t < due {
			due, station = t, s
		}
	}
	if e.events.len() > 0 && e.events.top().key < int64(due) {
		due, station = time.Duration(e.events.top().key), nil
	}
	if other := min(e.tick, e.arrival, e.expiry()); other < due {
		e.now = max(e.now, other)
		e.own(other)
		return
	}
	e.now = due
	switch {
	case station == nil:
		e.happen(e.events.pop())
	case station.done <= due:
		e.served(station)
	default:
		station.turn(due)
	}
}

func (e *engine) expiry() time.Duration {
	if t, ok := e.lane.NextExpiry(); ok {
		return t
	}
	return never
}

// own is what the lane's owner does by the clock, and the open loop's arrivals.
func (e *engine) own(due time.Duration) {
	switch due {
	case e.tick:
		e.lane.Tick(e.now, e.chance.uniform())
		e.tick += core.TickPeriod
		e.hint = e.lane.RetryAfter()
		if !e.blind {
			e.expected = e.lane.Expected()
		}
		e.tally.tick(e.lane, e.now)
		e.settled()
	case e.arrival:
		e.open++
		e.ask(e.fresh(false))
		e.arrival = e.next()
	default:
		e.lane.Expire(e.now)
		e.settled()
	}
}

func (e *engine) happen(ev event) {
	a := ev.a
	switch {
	case ev.gen != a.gen:
	case ev.kind == comeBack:
		e.comeBack(a)
	case a.asking:
		e.giveUp(a)
	}
}
