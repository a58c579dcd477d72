package core

import (
	"slices"
	"testing"
	"time"
)

// model is the slow and obvious account of a lane: it is told what was asked
// and what the lane answered, and knows what must then hold.
type model struct {
	t    testing.TB
	lane *Lane
	now  time.Duration
	ref  *reference

	waiting, running []*Call // both with the ghosts, by what the lane said
	unslotted        []*Call // ghosts that run without slots and do not wait
	tiers            [NumTiers]tally
	closed, retired  bool
	sparse           bool // most calls are not timed
}

func newModel(t testing.TB, cfg Config, sparse bool) *model {
	l := newLane(t, cfg)
	return &model{t: t, sparse: sparse, lane: l, ref: newReference(t, l)}
}

type tally struct{ arrived, admitted, left, shed, shadow, released uint64 }

func remove(calls []*Call, c *Call) ([]*Call, bool) {
	for i := range calls {
		if calls[i] == c {
			return append(calls[:i], calls[i+1:]...), true
		}
	}
	return calls, false
}

// advance goes forward in time as the owner does: Expire at every NextExpiry.
func (m *model) advance(d time.Duration) {
	m.now += d
	for {
		at, ok := m.lane.NextExpiry()
		if ok != (len(m.waiting) > 0) {
			m.t.Fatalf("NextExpiry says %v while %d wait", ok, len(m.waiting))
		}
		if !ok || at > m.now {
			return
		}
		m.expire(at)
		if again, ok := m.lane.NextExpiry(); ok && again <= at {
			m.t.Fatalf("after Expire(%v) the next expiry is %v", at, again)
		}
	}
}

func (m *model) expire(at time.Duration) {
	m.lane.Expire(at)
	m.ref.expired()
	m.settled(nil)
}

func (m *model) tick(chance float64) {
	m.lane.Tick(m.now, chance)
	m.ref.ticked()
	m.settled(nil)
}

func (m *model) offer(rank int, hash uint32, ghost bool) (shed bool) {
	m.tiers[rank/NumCohorts].arrived++
	shed = m.lane.Offer(rank, hash, ghost)
	m.ref.offered(rank, hash, shed)
	if shed {
		m.refused(rank/NumCohorts, ghost)
	}
	return shed
}

func (m *model) refused(tier int, ghost bool) {
	if ghost {
		m.tiers[tier].shadow++
	} else {
		m.tiers[tier].shed++
	}
}

// arrive brings a call that passed the gate.
func (m *model) arrive(now time.Duration, c *Call, chance float64, wait bool) {
	empty, better := len(m.waiting) == 0, true
	for _, w := range m.waiting {
		better = better && c.Tier() < w.Tier()
	}
	if m.sparse {
		m.lane.pace.stride, m.lane.pace.rush = 4, true
		if !m.lane.Timed(c, wait) {
			now = Untimed
		}
	}
	foreseen, cost, queued := m.lane.Foresee(now, *c, 0), c.Cost, len(m.waiting)
	state := m.lane.Arrive(now, c, chance, wait)
	m.ref.arrived(c, cost, chance, wait)
	if evicts := state == Waiting && m.lane.queue.Len() == queued; wait &&
		(foreseen.State != state || state == Refused && foreseen.Reason != c.Reason || foreseen.Evicts != evicts) {
		m.t.Fatalf("foreseen %+v; state %d, reason %v, evicts %v", foreseen, state, c.Reason, evicts)
	}
	switch {
	case state == Running:
		if !empty && !better {
			m.t.Fatalf("tier %d overtook waiters of its tier or better", c.Tier())
		}
		m.granted(c)
		m.tiers[c.Tier()].admitted++
	case state == Waiting && wait && !m.closed && !m.retired:
		m.waiting = append(m.waiting, c)
	case state == Refused:
		m.refused(c.Tier(), c.Ghost)
	default:
		m.t.Fatalf("Arrive says %v with wait %v, closed %v", state, wait, m.closed || m.retired)
	}
	if c.Ghost && state != Running { // it runs all the same
		m.tiers[c.Tier()].admitted++
		if state == Refused {
			m.unslotted = append(m.unslotted, c)
		}
	}
	m.settled(c)
}

// granted checks the moment at which a call got its slots.
func (m *model) granted(c *Call) {
	m.running = append(m.running, c)
	if l := m.lane; c.inflight > l.slots && c.inflight != c.Cost {
		m.t.Fatalf("a grant took inflight to %d, limit %d, cost %d", c.inflight, l.slots, c.Cost)
	}
	if m.lane.law.Resting {
		m.t.Fatal("a grant while the limit rests")
	}
	if m.closed {
		m.t.Fatal("a grant after Close")
	}
}

// settled takes over what the lane decided over waiters, then checks
// everything. The newcomer of the same call was accounted for already.
func (m *model) settled(newcomer *Call) {
	told := map[*Call]bool{}
	for c := m.lane.Settled(); c != nil; c = c.Next() {
		if told[c] || c.Ghost || c == newcomer {
			m.t.Fatalf("told of %+v, twice or for no reason", c)
		}
		told[c] = true
	}
	var grants []*Call
	still := m.waiting[:0:0]
	for _, c := range m.waiting {
		if told[c] == (c.State == Waiting) && !c.Ghost {
			m.t.Fatalf("told %v of a waiter in state %v", told[c], c.State)
		}
		delete(told, c)
		switch c.State {
		case Waiting:
			still = append(still, c)
			if age := m.lane.now - c.Arrived; age > c.item.Allowance+ms {
				m.t.Fatalf("waits for %v, its allowance is %v", age, c.item.Allowance)
			}
		case Running:
			m.granted(c)
			grants = append(grants, c)
			if !c.Ghost { // else it was counted when it came
				m.tiers[c.Tier()].admitted++
			}
		case Refused:
			m.refused(c.Tier(), c.Ghost)
			if c.Ghost {
				m.unslotted = append(m.unslotted, c)
			}
		default:
			m.t.Fatalf("a waiter is in state %v", c.State)
		}
	}
	if len(told) > 0 {
		m.t.Fatalf("told of %d calls that did not wait", len(told))
	}
	m.waiting = still
	for _, g := range grants {
		for _, w := range still {
			if w.Tier() < g.Tier() {
				m.t.Fatalf("tier %d was granted while tier %d waits", g.Tier(), w.Tier())
			}
		}
	}
	m.check()
}

func (m *model) release(now time.Duration, c *Call, o Outcome) {
	m.tiers[c.Tier()].released++
	for _, list := range []*[]*Call{&m.waiting, &m.running, &m.unslotted} {
		*list, _ = remove(*list, c)
	}
	if c.Untimed && !m.lane.Awaited() {
		now = Untimed
	}
	m.lane.Release(now, c, o)
	m.ref.ended(c, o)
	m.relieved()
	m.settled(nil)
}

// relieved takes over that a ghost's end was taken for another's, who runs on without
// his slot: it must be the one that had it longest.
func (m *model) relieved() {
	for _, c := range m.running {
		if c.State != Idle {
			continue
		}
		m.running, _ = remove(m.running, c)
		m.unslotted = append(m.unslotted, c)
		for _, other := range m.running {
			if other.Started < c.Started || !c.Ghost {
				m.t.Fatalf("relieved is one that started at %v, ghost %v; another at %v", c.Started, c.Ghost, other.Started)
			}
		}
		return
	}
}

// leave is a caller's who goes while he waits, or just as he is granted.
func (m *model) leave(now time.Duration, c *Call) {
	m.tiers[c.Tier()].left++
	var ran bool
	if m.running, ran = remove(m.running, c); ran {
		m.tiers[c.Tier()].admitted--
	}
	m.waiting, _ = remove(m.waiting, c)
	m.lane.Leave(now, c)
	m.ref.left(c)
	m.settled(nil)
}

// check compares the lane's counters with the model's.
func (m *model) check() {
	var v View
	m.lane.View(m.now, &v)
	slots, overrun, waiting := 0, 0, [NumTiers]uint64{}
	for _, c := range m.running {
		slots += c.Cost
	}
	for _, c := range m.unslotted {
		overrun += c.Cost
	}
	queued := [NumTiers]int{}
	for _, c := range m.waiting {
		queued[c.Tier()]++
		if c.Ghost {
			overrun += c.Cost
		} else {
			waiting[c.Tier()]++
		}
	}
	if v.Inflight != slots || v.Overrun != overrun || v.Queued != queued {
		m.t.Fatalf("inflight %d, overrun %d, queued %v; want %d, %d, %v", v.Inflight, v.Overrun, v.Queued, slots, overrun, queued)
	}
	for i, want := range m.tiers {
		c := v.Tiers[i]
		got := tally{arrived: c.Arrived, admitted: c.Admitted, left: c.Left}
		for r := range NumReasons {
			got.shed += c.Shed[r]
			got.shadow += c.Shadow[r]
		}
		for _, n := range c.Outcomes {
			got.released += n
		}
		if got != want {
			m.t.Fatalf("tier %d: %+v, want %+v", i, got, want)
		}
		if got.arrived != got.admitted+got.shed+got.left+waiting[i] {
			m.t.Fatalf("tier %d: %+v and %d waiting do not add up", i, got, waiting[i])
		}
	}
}

// end lets everybody go; nothing may be left.
func (m *model) end() {
	for len(m.running)+len(m.unslotted)+len(m.waiting) > 0 {
		for _, c := range m.waiting {
			if c.Ghost {
				m.release(m.now, c, Ignore)
			} else {
				m.leave(m.now, c)
			}
			break // the others may have been granted
		}
		for _, c := range slices.Concat(m.running, m.unslotted) {
			m.release(m.now, c, Success)
		}
	}
	for i, n := range m.tiers {
		if n.admitted != n.released {
			m.t.Fatalf("tier %d: admitted %d, released %d", i, n.admitted, n.released)
		}
	}
	if l := m.lane; l.inflight != 0 || l.count.Overrun != 0 || l.queue.Len() != 0 || l.runs != nil || l.settledHead != nil {
		m.t.Fatalf("left behind: inflight %d, overrun %d, %d in the queue", l.inflight, l.count.Overrun, l.queue.Len())
	}
}
