package core

import (
	"math/rand/v2"
	"testing"
	"time"
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
func play(t testing.TB, s script, sparse bool) {
	m := &model{t: t, sparse: sparse, lane: newLane(t, modelConfigs[s.pick(len(modelConfigs))])}
	for len(s) > 0 {
		now := m.now
		switch s.pick(16) {
		case 0, 1, 2, 3, 4, 5:
			m.playArrival(&s, now)
		case 6, 7, 8:
			if n := len(m.running); n > 0 {
				m.release(now, m.running[s.pick(n)], Outcome(s.pick(int(NumOutcomes))))
			} else if n := len(m.unslotted); n > 0 {
				m.release(now, m.unslotted[s.pick(n)], Success)
			}
		case 9:
			m.playLeaving(&s, now)
		case 10, 11:
			m.advance(time.Duration(s.byte()) * ms)
		case 12:
			m.advance(time.Duration(1<<s.pick(35)) * time.Nanosecond) // up to 17 s
		case 13:
			m.lane.Tick(now, float64(s.byte())/256)
			m.settled(nil)
		case 14:
			m.playOwner(&s)
		case 15: // time goes back: it stands still
			m.lane.Expire(now - time.Duration(s.byte())*time.Second)
			m.settled(nil)
		}
	}
	m.end()
}

func (m *model) playArrival(s *script, now time.Duration) {
	c := &Call{Rank: s.pick(NumTiers)*NumCohorts + s.pick(NumCohorts)}
	how := s.byte()
	c.Cost = []int{1, 1, 1, 2, 5, 50}[how%6]
	if left := s.byte(); left%3 > 0 {
		c.Deadline = max(now+time.Duration(left)*10*ms-50*ms, 1) // or past already
	}
	c.Ghost = how&0x80 > 0 && how&0x40 > 0
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
		m.lane.Retire()
		m.retired = true
	default:
		m.reconfigure(modelConfigs[s.pick(len(modelConfigs))])
	}
	m.check()
}

func TestLaneAgainstModel(t *testing.T) {
	const seed = 6
	r := rand.New(rand.NewPCG(seed, seed))
	for range 300 {
		s := make(script, 5000)
		for i := range s {
			s[i] = byte(r.Uint32())
		}
		play(t, s, false)
		play(t, s, true)
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
