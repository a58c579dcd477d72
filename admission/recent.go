package admission

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Recent is what a controller remembers of the last minutes, for people who come
// when the trouble is there: see package debug.
type Recent struct {
	// Moments are one for each second in which the loop ran, oldest first, at most
	// 300. While all lanes sleep and no signal is polled none are added.
	Moments []Moment
	// Sheds are some of the last refusals, newest first: of each reason at most two a
	// second are taken, and the last eight kept, so that the frequent do not hide the
	// rare.
	Sheds []ShedSample
}

// Moment is how a controller stood at one time.
type Moment struct {
	At      time.Time
	Lanes   []LaneMoment   // by name
	Signals []SignalMoment // by name
}

// LaneMoment is how a lane stood; its counters, those since the start, are made to
// be subtracted.
type LaneMoment struct {
	Name      string
	Limit     int
	Inflight  int
	Queued    int
	ShedRatio float64
	Threshold Priority
	Binding   string
	Median    time.Duration // service time, the last ten seconds

	Arrived  [NumTiers]uint64
	Admitted [NumTiers]uint64
	Shed     [NumTiers]uint64   // also those that only would have been
	Reasons  [NumReasons]uint64 // the same by reason
}

// SignalMoment is how a signal stood.
type SignalMoment struct {
	Name     string
	Setpoint float64
	Pressure float64 // the last reading
	Stale    bool
}

// ShedSample is one refusal. Tenant, Caller, Op and Key are cut to 64 bytes.
type ShedSample struct {
	At                      time.Time
	Err                     *ShedError
	Cause                   error    // what the scorecard or a stage said, if it was they
	Priority                Priority // in force, also where the request named none
	Tenant, Caller, Op, Key string   // as they came: escape them before showing them
	Shadow                  bool     // it ran all the same
}

// Recent returns a copy of what is remembered. It is for people, who look now and
// then.
func (c *Controller) Recent() Recent {
	if c == nil {
		return Recent{}
	}
	return Recent{Moments: c.moments.list(), Sheds: c.sheds.list()}
}

const (
	momentPeriod = time.Second
	momentsKept  = 300

	shedsKept    = 8 // of each reason
	shedsAtATime = 2 // in a momentPeriod, likewise
)

// remember notes how all stands. It is the loop's, which runs only while there is
// something to see.
func (c *Controller) remember(now time.Duration) {
	if now < c.nextMoment {
		return
	}
	c.nextMoment = now + momentPeriod
	c.sheds.makeRoom()
	m := c.moments.next(c.start.Add(now))
	defer c.moments.Unlock()
	for _, l := range c.serving() {
		m.Lanes = append(m.Lanes, l.stats(now).moment())
	}
	for _, b := range c.plan.Load().signals {
		s := b.stats()
		m.Signals = append(m.Signals, SignalMoment{Name: s.Name, Setpoint: s.Setpoint, Pressure: s.Pressure, Stale: s.Stale})
	}
}

func (l LaneStats) moment() LaneMoment {
	m := LaneMoment{
		Name: l.Name, Limit: l.Limit, Inflight: l.Inflight, ShedRatio: l.ShedRatio,
		Threshold: l.Threshold, Binding: l.Binding, Median: l.Median,
	}
	for t := range l.Tiers {
		ts := &l.Tiers[t]
		m.Queued += l.Queued[t]
		m.Arrived[t], m.Admitted[t] = ts.Arrived, ts.Admitted
		for r := range ts.Shed {
			n := ts.Shed[r] + ts.Shadow[r]
			m.Shed[t] += n
			m.Reasons[r] += n
		}
	}
	return m
}

// moments is a ring, which allocates nothing once it is full.
type moments struct {
	sync.Mutex
	ring []Moment
	last int
}

// next returns the place for a new moment; the caller unlocks.
func (ms *moments) next(at time.Time) *Moment {
	ms.Lock()
	if len(ms.ring) < momentsKept {
		ms.ring = append(ms.ring, Moment{})
		ms.last = len(ms.ring) - 1
	} else {
		ms.last = (ms.last + 1) % momentsKept
	}
	m := &ms.ring[ms.last]
	m.At, m.Lanes, m.Signals = at, m.Lanes[:0], m.Signals[:0]
	return m
}

func (ms *moments) list() []Moment {
	ms.Lock()
	defer ms.Unlock()
	all := make([]Moment, 0, len(ms.ring))
	for i := range ms.ring {
		m := ms.ring[(ms.last+1+i)%len(ms.ring)]
		m.Lanes, m.Signals = slices.Clone(m.Lanes), slices.Clone(m.Signals)
		all = append(all, m)
	}
	return all
}

// shedSamples keeps some refusals of each reason. Those it does not take pay for one
// load of a word that is written twice a second; those it takes allocate nothing and
// hold nothing of the request alive but its errors.
type shedSamples struct {
	room [NumReasons]atomic.Int32 // how many more are taken until makeRoom

	mu struct {
		sync.Mutex
		rings [NumReasons][shedsKept]keptShed
		taken [NumReasons]int
	}
}

type keptShed struct {
	at                      time.Time
	err                     *ShedError
	cause                   error
	priority                Priority
	tenant, caller, op, key text
	shadow                  bool
}

// text is the beginning of a string, in no memory but its own.
type text struct {
	len   uint8
	bytes [64]byte
}

func (t *text) set(s string) { t.len = uint8(copy(t.bytes[:], s)) }

// String leaves out what the cut has left of a character.
func (t *text) String() string { return strings.ToValidUTF8(string(t.bytes[:t.len]), "") }

func (s *shedSamples) makeRoom() {
	for r := range s.room {
		s.room[r].Store(shedsAtATime)
	}
}

// wants tells whether one more is taken.
func (s *shedSamples) wants(why Reason) bool {
	room := &s.room[why]
	return room.Load() > 0 && room.Add(-1) >= 0
}

func (s *shedSamples) take(at time.Time, r *Request, priority Priority, err *ShedError, cause error, shadow bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := &s.mu.taken[err.Reason]
	k := &s.mu.rings[err.Reason][*n%shedsKept]
	*n++
	k.at, k.err, k.cause, k.shadow, k.priority = at, err, cause, shadow, priority
	k.tenant.set(r.Tenant)
	k.caller.set(r.Caller)
	k.op.set(r.Op)
	k.key.set(r.Key)
}

func (s *shedSamples) list() []ShedSample {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []ShedSample
	for why := range s.mu.rings {
		for i := range min(s.mu.taken[why], shedsKept) {
			k := &s.mu.rings[why][i]
			all = append(all, ShedSample{
				At: k.at, Err: k.err, Cause: k.cause, Priority: k.priority, Shadow: k.shadow,
				Tenant: k.tenant.String(), Caller: k.caller.String(), Op: k.op.String(), Key: k.key.String(),
			})
		}
	}
	slices.SortFunc(all, func(a, b ShedSample) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Err.Reason, b.Err.Reason))
	})
	return all
}
