package core

import (
	"container/heap"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spillway-go/spillway/pid"
)

const ms = time.Millisecond

func newLane(t testing.TB, cfg Config) *Lane {
	t.Helper()
	l, err := New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func pinned(limit int) Config { return Config{Limit: pid.LimitConfig{Fixed: limit}} }

// sim is a lane before a back end, and its clients, in virtual time.
type sim struct {
	t    testing.TB
	lane *Lane
	now  time.Duration
	todo events
	rand *rand.Rand

	service  func() time.Duration
	servers  int // of the back end, which has a queue of its own; 0: one for each slot
	serving  int
	backlog  []*Call
	deadline time.Duration // of the clients
	retries  int           // after a refusal, with the same hash
	rank     func() int
	tick     func() // after each tick of the lane

	offered, good, late, gated, died int // attempts
}

type attempt struct {
	hash  uint32
	rank  int
	tries int
}

type event struct {
	at time.Duration
	do func()
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func newSim(t testing.TB, cfg Config, seed uint64) *sim {
	s := &sim{t: t, lane: newLane(t, cfg), rand: rand.New(rand.NewPCG(seed, seed)), deadline: time.Second}
	s.service = func() time.Duration { return s.exp(100 * ms) }
	s.rank = func() int { return s.rand.IntN(NumRanks) }
	s.after(0, s.ticks)
	return s
}

func (s *sim) exp(mean time.Duration) time.Duration {
	return time.Duration(s.rand.ExpFloat64() * float64(mean))
}

func (s *sim) after(d time.Duration, do func()) { heap.Push(&s.todo, event{s.now + d, do}) }

// run lets time pass, with requests coming at a rate.
func (s *sim) run(d time.Duration, rate float64) {
	end := s.now + d
	var next func()
	next = func() {
		s.try(attempt{hash: s.rand.Uint32(), rank: s.rank()})
		if gap := s.exp(time.Duration(float64(time.Second) / rate)); s.now+gap < end {
			s.after(gap, next)
		}
	}
	if rate > 0 {
		next()
	}
	for len(s.todo) > 0 && s.todo[0].at <= end {
		if at, ok := s.lane.NextExpiry(); ok && at <= s.todo[0].at {
			s.now = max(s.now, at)
			s.lane.Expire(s.now)
			s.settled()
			continue
		}
		e := heap.Pop(&s.todo).(event)
		s.now = e.at
		e.do()
	}
	s.now = end
}

func (s *sim) ticks() {
	s.lane.Tick(s.now, s.rand.Float64())
	s.settled()
	if s.tick != nil {
		s.tick()
	}
	s.after(TickPeriod, s.ticks)
}

func (s *sim) try(a attempt) {
	s.offered++
	if s.lane.Offer(a.rank, a.hash, false) {
		s.gated++
		s.again(a)
		return
	}
	c := &Call{Rank: a.rank, Cost: 1, Deadline: s.now + s.deadline, Owner: a}
	state := s.lane.Arrive(s.now, c, s.rand.Float64(), true)
	s.settled()
	switch state {
	case Running:
		s.serve(c)
	case Refused:
		s.died++
		s.again(a)
	}
}

func (s *sim) again(a attempt) {
	if a.tries++; a.tries <= s.retries {
		s.after(50*ms+s.exp(100*ms), func() { s.try(a) })
	}
}

func (s *sim) settled() {
	for c := s.lane.Settled(); c != nil; {
		next := c.Next()
		if c.State == Running {
			s.serve(c)
		} else {
			s.died++
			s.again(c.Owner.(attempt))
		}
		c = next
	}
}

func (s *sim) serve(c *Call) {
	if s.servers > 0 && s.serving >= s.servers {
		s.backlog = append(s.backlog, c)
		return
	}
	s.serving++
	s.after(s.service(), func() {
		s.serving--
		if s.now <= c.Deadline {
			s.good++
		} else {
			s.late++
		}
		for len(s.backlog) > 0 && s.serving < s.servers {
			first := s.backlog[0]
			s.backlog = s.backlog[1:]
			s.serve(first)
		}
		s.lane.Release(s.now, c, Success)
		s.settled()
	})
}
