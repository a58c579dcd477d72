package sim

import (
	"math"
	"time"
)

// station serves attempts. All in service have the same speed, so one clock of
// the work that each of them has got by now orders their ends: an arrival or an
// end costs O(log n), though it changes the speed of all the others.
type station struct {
	spec Station
	work work

	servers int       // now; 0: no bound
	visits  []float64 // shares of a request's work
	beside  int       // in service that take no server
	factor  float64   // of the schedule, now
	paused  bool

	got     float64       // seconds of work that each in service has got
	at      time.Duration // when that was so
	serving heap[float64, *attempt]
	waiting ring
	choice  stream // among those that wait, where it is random

	done   time.Duration // the next end of service
	change time.Duration // the next change by schedule or pause
	beat   time.Duration // the next look at the schedule
}

// schedulePeriod is how often schedules are looked at.
const schedulePeriod = 250 * time.Millisecond

func newStation(spec Station, sizeSigma float64, noise stream) *station {
	s := &station{spec: spec, work: newWork(&spec, sizeSigma, noise), visits: shares(spec.Visits), done: never, choice: noise.fork(1)}
	s.turn(0)
	return s
}

// shares are parts in proportion to their sum; one if there are none.
func shares(parts []float64) []float64 {
	if len(parts) == 0 {
		return []float64{1}
	}
	sum := 0.0
	for _, p := range parts {
		sum += p
	}
	out := make([]float64, len(parts))
	for i, p := range parts {
		out[i] = p / sum
	}
	return out
}

// turn puts into force what schedule and pauses say at now.
func (s *station) turn(now time.Duration) {
	s.advance(now)
	t := now.Seconds()
	if now >= s.beat {
		s.factor = linear(s.spec.Speed, t)
		s.servers = s.spec.Servers
		if s.servers > 0 {
			s.servers = max(1, int(math.Round(float64(s.servers)*stepped(s.spec.ServersFactor, t))))
		}
		s.beat = never
		if len(s.spec.Speed) > 0 || len(s.spec.ServersFactor) > 0 {
			s.beat = now + schedulePeriod
		}
	}
	s.change = min(s.beat, s.pause(now))
	s.fill()
	s.plan()
}

// pause tells by s.paused whether the station stands still, and returns when
// that changes. The first pause is one period after the start.
func (s *station) pause(now time.Duration) time.Duration {
	every, length := seconds(s.spec.PauseEveryS), millis(s.spec.PauseMS)
	if every <= 0 || length <= 0 {
		return never
	}
	start := now / every * every
	s.paused = start > 0 && now < start+length
	if s.paused {
		return start + length
	}
	return start + every
}

// speed of each in service.
func (s *station) speed() float64 {
	if s.paused {
		return 0
	}
	n, v := float64(s.serving.len()), s.factor
	if s.spec.Cores > 0 {
		v *= min(1, s.spec.Cores/(n*(1+s.spec.Beta*max(0, n-s.spec.Knee))))
	}
	if s.spec.USLAlpha > 0 || s.spec.USLBeta > 0 {
		v /= 1 + s.spec.USLAlpha*(n-1) + s.spec.USLBeta*n*(n-1)
	}
	return v
}

// advance gives those in service their work up to now.
func (s *station) advance(now time.Duration) {
	if s.serving.len() > 0 {
		s.got += s.speed() * (now - s.at).Seconds()
	}
	s.at = now
}

// plan finds out when the next end of service is.
func (s *station) plan() {
	s.done = never
	if s.serving.len() == 0 {
		s.got = 0
		return
	}
	left := max(0, s.serving.top().key-s.got)
	if v := s.speed(); v > 0 {
		if d := seconds(left / v); d < never-s.at {
			s.done = s.at + d
		}
	}
}

// enter brings an attempt.
func (s *station) enter(now time.Duration, a *attempt) {
	s.advance(now)
	s.waiting.push(a)
	s.fill()
	s.plan()
}

func (s *station) fill() {
	for s.waiting.len > 0 && (s.servers == 0 || s.serving.len()-s.beside < s.servers) {
		if s.spec.Random {
			s.waiting.swap(int(s.choice.next() % uint64(s.waiting.len)))
		}
		a := s.waiting.pop()
		s.serving.push(s.got+a.work[a.station]*s.visits[a.visits], a)
	}
}

// bear takes an attempt in that needs no server.
func (s *station) bear(now time.Duration, a *attempt) {
	s.advance(now)
	s.beside++
	s.serving.push(s.got+a.work[a.station], a)
	s.plan()
}

// leave drops an attempt that waits; false if it does not.
func (s *station) leave(now time.Duration, a *attempt) bool {
	s.advance(now)
	ok := s.waiting.remove(a)
	s.fill()
	s.plan()
	return ok
}

// finish ends the service that is due.
func (s *station) finish() *attempt {
	s.advance(s.done)
	a := s.serving.pop()
	if a.refusal {
		s.beside--
	}
	s.fill()
	s.plan()
	return a
}

// ring is a queue without a bound.
type ring struct {
	items     []*attempt // a power of two of them
	head, len int
}

func (r *ring) push(a *attempt) {
	if r.len == len(r.items) {
		grown := make([]*attempt, max(16, 2*len(r.items)))
		n := copy(grown, r.items[r.head:])
		copy(grown[n:], r.items[:r.head])
		r.items, r.head = grown, 0
	}
	r.items[(r.head+r.len)&(len(r.items)-1)] = a
	r.len++
}

// at is where the i-th is.
func (r *ring) at(i int) **attempt { return &r.items[(r.head+i)&(len(r.items)-1)] }

// swap puts the i-th first and the first in its place.
func (r *ring) swap(i int) {
	a, b := r.at(0), r.at(i)
	*a, *b = *b, *a
}

// remove takes one out from wherever it is.
func (r *ring) remove(a *attempt) bool {
	for i := range r.len {
		if *r.at(i) == a {
			for ; i > 0; i-- {
				*r.at(i) = *r.at(i - 1)
			}
			r.pop()
			return true
		}
	}
	return false
}

// pop takes out the first. REQUIRES: there is one.
func (r *ring) pop() *attempt {
	a := r.items[r.head]
	r.items[r.head] = nil
	r.head = (r.head + 1) & (len(r.items) - 1)
	r.len--
	return a
}
