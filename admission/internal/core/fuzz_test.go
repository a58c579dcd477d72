package core

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/spillway-go/spillway/codel"
	"github.com/spillway-go/spillway/pid"
)

// script reads a run of the model from bytes, zeroes when they are used up.
type script []byte

func (s *script) byte() int {
	if len(*s) == 0 {
		return 0
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return int(b)
}

// pick is one of n.
func (s *script) pick(n int) int { return s.byte() % n }

// play runs a script against the model, with all calls timed or only some.
func play(t testing.TB, s script, sparse bool) *reference {
	m := newModel(t, modelConfigs[s.pick(len(modelConfigs))], sparse)
	for len(s) > 0 {
		now := m.now
		switch s.pick(20) {
		case 0, 1, 2, 3, 4, 5:
			m.playArrival(&s, now)
		case 6, 7, 8:
			if all := slices.Concat(m.running, m.unslotted); len(all) > 0 {
				m.release(now, all[s.pick(len(all))], Outcome(s.pick(int(NumOutcomes))))
			}
		case 9:
			m.playLeaving(&s, now)
		case 10, 11:
			m.advance(time.Duration(s.byte()) * ms)
		case 12:
			m.advance(time.Duration(1<<s.pick(35)) * time.Nanosecond) // up to 17 s
		case 13:
			m.tick(float64(s.byte()) / 256)
		case 14:
			m.playOwner(&s)
		case 15: // time goes back: it stands still
			m.expire(now - time.Duration(s.byte())*time.Second)
		case 16, 17:
			m.playSteady(&s)
		case 18:
			m.precheck(s.pick(NumTiers)*NumCohorts + s.pick(NumCohorts))
			m.check()
		case 19:
			m.lane.Join(now)
		}
	}
	m.end()
	return m.ref
}

// playSteady is some seconds of load with a tick for each control interval: without
// that the laws hardly do anything.
func (m *model) playSteady(s *script) {
	ticks, come, end, how := 1+s.pick(24), s.pick(8), s.pick(8), s.byte()
	for i := range ticks {
		m.advance(TickPeriod)
		m.tick(float64(i) / 24)
		for j := range come {
			c := &Call{Rank: (i*7 + j*131 + how) % NumRanks, Cost: 1}
			if how%2 > 0 {
				c.Deadline = m.now + 300*ms
			}
			if !m.offer(c.Rank, uint32(i*j)<<20, false) {
				m.arrive(m.now, c, float64(j)/8, true)
			}
		}
		for range min(end, len(m.running)) {
			m.release(m.now, m.running[0], Outcome(how%8/6)) // success or, more seldom, overload
		}
	}
}

func (m *model) playArrival(s *script, now time.Duration) {
	c := &Call{Rank: s.pick(NumTiers)*NumCohorts + s.pick(NumCohorts)}
	how := s.byte()
	c.Cost = []int{1, 1, 1, 2, 5, 50}[how%6]
	if left := s.byte(); left%3 > 0 {
		c.Deadline = max(now+time.Duration(left)*10*ms-50*ms, 1) // or past already
	}
	c.Ghost, c.Stream = how&0x80 > 0 && how&0x40 > 0, how%11 == 0
	if m.offer(c.Rank, uint32(how)<<24, c.Ghost) {
		if c.Ghost {
			m.lane.Unslotted(c)
			m.unslotted = append(m.unslotted, c)
			m.tiers[c.Tier()].admitted++
		}
		m.check()
		return
	}
	m.arrive(now, c, float64(s.byte())/256, how&0x20 == 0)
}

func (m *model) playLeaving(s *script, now time.Duration) {
	from := m.waiting
	if s.pick(4) == 0 {
		from = m.running
	}
	if len(from) == 0 {
		return
	}
	if c := from[s.pick(len(from))]; c.Ghost {
		m.release(now, c, Ignore)
	} else {
		m.leave(now, c)
	}
}

// playOwner is what an owner does beside serving requests.
func (m *model) playOwner(s *script) {
	tier := s.pick(NumTiers)
	switch s.pick(8) {
	case 0:
		m.lane.Refuse(tier*NumCohorts, ReasonTenantCap, false)
		m.tiers[tier].arrived++
		m.tiers[tier].shed++
	case 1:
		m.lane.Gone(tier * NumCohorts)
		m.tiers[tier].arrived++
		m.tiers[tier].left++
	case 2, 3:
		m.lane.SetSignals(float64(s.pick(100))/100, "signal")
	case 4:
		if s.pick(4) == 0 {
			m.close(m.now)
		}
	case 5:
		m.retire()
	default:
		m.reconfigure(modelConfigs[s.pick(len(modelConfigs))])
	}
	m.check()
}

func (m *model) close(now time.Duration) {
	m.closed = true
	m.lane.Close(now)
	m.ref.close()
	m.settled(nil)
	if len(m.waiting) > 0 {
		m.t.Fatalf("%d wait after Close", len(m.waiting))
	}
}

func (m *model) reconfigure(cfg Config) {
	if err := m.lane.Reconfigure(cfg, nil); err != nil {
		m.t.Fatal(err)
	}
	m.closed, m.retired = false, false
	m.ref.closed, m.ref.changed = false, true
	m.settled(nil)
}

func (m *model) retire() {
	m.lane.Retire()
	m.retired, m.ref.closed = true, true
}

// precheck: who is told that he would be shed would have been.
func (m *model) precheck(rank int) {
	would := m.lane.Foresee(m.now, Call{Rank: rank, Cost: 1}, 0)
	why, shed := m.lane.Precheck(rank)
	if shed {
		m.tiers[rank/NumCohorts].arrived++
		m.tiers[rank/NumCohorts].shed++
	}
	if shed && why == ReasonPriority != would.Shed || shed && why != ReasonPriority && (would.State != Refused || would.Reason != why) {
		m.t.Fatalf("rank %d is shed for %v beforehand, but %+v", rank, why, would)
	}
}

// configs that a run switches between.
var modelConfigs = []Config{
	pinned(1), pinned(4), pinned(40),
	{},
	{Limit: pid.LimitConfig{Initial: 2, Max: 6}, Queue: codel.Config{Capacity: 3}, Deadline: 300 * ms},
	{Limit: pid.LimitConfig{Fixed: 3}, Queue: codel.Config{Law: codel.LawCoDel}, Gate: pid.GateConfig{Law: "off"}},
	{Limit: pid.LimitConfig{Fixed: 10}, Queue: codel.Config{Capacity: 1}, Deadline: 20 * ms},
}

func TestLaneAgainstModel(t *testing.T) {
	const seed = 6
	r := rand.New(rand.NewPCG(seed, seed))
	var sum reference
	for range 150 {
		s := make(script, 1500)
		for i := range s {
			s[i] = byte(r.Uint32())
		}
		sum.add(play(t, s, false))
		sum.add(play(t, s, true))
	}
	t.Logf("%d granted oldest first, %d newest first, %d in a probe; %d ghosts relieved, %d let through by the gate for there was room; shed %v",
		sum.grants[0], sum.grants[1], sum.probed, sum.relieved, sum.reserved, sum.shed)
	few := min(sum.grants[0], sum.grants[1], sum.probed, sum.relieved, sum.reserved)
	for _, why := range []Reason{ReasonDeadline, ReasonPriority, ReasonLimit, ReasonQueueFull, ReasonQueueTimeout, ReasonEvicted, ReasonClosed} {
		few = min(few, sum.shed[why])
	}
	if few < 100 {
		t.Error("the runs do not cover enough")
	}
}

func FuzzLane(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 4, 4, 0, 6, 0, 0}) // two come, one is released
	r := rand.New(rand.NewPCG(7, 7))
	for range 3 {
		s := make([]byte, 300)
		for i := range s {
			s[i] = byte(r.Uint32())
		}
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s []byte) {
		play(t, s, false)
		play(t, s, true)
	})
}
