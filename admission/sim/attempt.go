package sim

import (
	"math"
	"time"

	"github.com/spillway-go/spillway/admission/internal/core"
)

// request is what attempts of one request have in common. It is handed from
// attempt to attempt.
type request struct {
	number   uint64
	rank     int
	hash     uint32 // the gate's verdict at its boundary goes by it
	class    float64
	size     float64
	service  float64       // seconds, as the log has it
	patience time.Duration // how long its client waits for each attempt
	first    time.Duration // when the first attempt began
	retries  int           // attempts before this one
	closed   bool          // of a closed-loop client
}

// attempt is one try of a request. It may outlive its client's interest: while
// its slot or the back end's work for it lasts.
type attempt struct {
	request
	call  core.Call
	began time.Duration
	due   time.Duration // its client gives up then

	asking  bool // its client waits for the answer
	slot    bool // it holds a slot of the lane
	serving bool // the back end has it

	work    []float64 // by station
	station int       // where it is
	visits  int       // there, that are over
	refusal bool      // it is none, but what one costs that is not served

	gen  uint32 // tells its events from those of the attempt it was before
	next *attempt
}

// take returns an unused attempt.
func (e *engine) take() *attempt {
	a := e.free
	if a == nil {
		a = &attempt{work: make([]float64, len(e.stations))}
		a.call.Owner = a
		a.call.Cost = 1
		return a
	}
	e.free, a.next = a.next, nil
	return a
}

// put takes an attempt back that nothing refers to any more.
func (e *engine) put(a *attempt) {
	if a.asking || a.slot || a.serving {
		return
	}
	a.gen++
	a.next, e.free = e.free, a
}

// fresh makes a new request. All about it comes from its own stream.
func (e *engine) fresh(closed bool) request {
	r := request{number: e.numbered, first: e.now, closed: closed, patience: e.deadline}
	e.numbered++
	s := e.requests.fork(r.number)
	r.hash = uint32(s.next() >> 32)
	r.rank = e.rank(&s)
	r.class = s.uniform()
	if e.sized {
		r.size = s.normal()
	}
	if len(e.log) > 0 && !closed {
		e.logged(&r, &s)
	}
	return r
}

func (e *engine) rank(s *stream) int {
	x, cohort := s.uniform(), int(s.next()%core.NumCohorts)
	if e.scenario.OneRank {
		return core.NumCohorts + core.NumCohorts/2
	}
	tier := 0
	for tier < len(e.tiers)-1 && x >= e.tiers[tier] {
		tier++
	}
	return tier*core.NumCohorts + cohort
}

// cumulate turns shares into the upper bounds of [0, 1)'s parts.
func cumulate(mix []float64) []float64 {
	if len(mix) == 0 {
		mix = []float64{0, 0, 0, 1} // unclassified requests are t3
	}
	sum, last := 0.0, 0
	for i, share := range mix {
		sum += share
		if share > 0 {
			last = i
		}
	}
	bounds, at := make([]float64, last+1), 0.0
	for i := range bounds {
		at += mix[i] / sum
		bounds[i] = at
	}
	bounds[last] = math.Inf(1)
	return bounds
}

// serve lets the back end work on an attempt that has got its slot.
func (e *engine) serve(a *attempt) {
	a.slot, a.serving, a.station, a.visits = true, true, 0, 0
	// Attempts of one request differ in work: what made one slow (a lock, a cold
	// cache, a page fault) is mostly not there the next time.
	r := e.works.fork(a.number).fork(uint64(a.retries))
	factor := 1.0
	if tier := a.rank / core.NumCohorts; tier < len(e.scenario.TierWork) {
		factor = e.scenario.TierWork[tier]
	}
	for i, s := range e.stations {
		a.work[i] = factor * s.work.draw(&r, &a.request)
	}
	e.stations[0].enter(e.now, a)
}

// served takes an attempt from the station that is done with it.
func (e *engine) served(s *station) {
	a := s.finish()
	if a.refusal {
		a.refusal, a.serving = false, false
		e.put(a)
		return
	}
	if a.visits++; a.visits == len(s.visits) {
		a.visits = 0
		a.station++
	}
	dropped := !a.asking && e.scenario.Client.CancelStopsWork
	if a.station < len(e.stations) && !dropped {
		e.stations[a.station].enter(e.now, a)
		return
	}
	a.serving = false
	if a.slot {
		a.slot = false
		outcome := core.Success
		if e.now > a.due {
			outcome = core.Overload
		}
		e.tally.took(a, e.now-a.began)
		e.lane.Release(e.now, &a.call, outcome)
		e.settled()
	}
	if a.asking {
		e.answer(a)
	}
	e.put(a)
}

// vain takes of the stations what an attempt costs that is not served.
func (e *engine) vain() {
	for i, s := range e.stations {
		if s.spec.RefusalMS == 0 {
			continue
		}
		a := e.take()
		a.refusal, a.serving, a.station = true, true, i
		a.work[i] = s.spec.RefusalMS / 1000
		s.bear(e.now, a)
	}
}
