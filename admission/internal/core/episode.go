package core

import "time"

const (
	// quiet is how long nobody must be shed for an episode to be over: a lane at
	// its limit sheds in fits.
	quiet = 10 * time.Second
	// recap is how often a long episode is told of.
	recap = time.Minute
)

// Tally is what a lane has shed, or in shadow would have, in all. Those shed by a
// cap, a keyed signal or Close are left out: they say nothing about load.
type Tally struct {
	Arrived uint64
	Shed    uint64
	Tiers   [NumTiers]uint64
	Reasons [NumReasons]uint64
}

// Tally adds it up, which is nothing for a request's way.
func (l *Lane) Tally() (t Tally) {
	for i := range l.count.Tiers {
		c := &l.count.Tiers[i]
		t.Arrived += c.Arrived
		for r := range NumReasons {
			if r == ReasonTenantCap || r == ReasonKeyed || r == ReasonClosed {
				continue
			}
			n := c.Shed[r] + c.Shadow[r]
			t.Shed += n
			t.Tiers[i] += n
			t.Reasons[r] += n
		}
	}
	return t
}

// since is what came after was.
func (t Tally) since(was *Tally) Tally {
	t.Arrived -= was.Arrived
	t.Shed -= was.Shed
	for i := range t.Tiers {
		t.Tiers[i] -= was.Tiers[i]
	}
	for i := range t.Reasons {
		t.Reasons[i] -= was.Reasons[i]
	}
	return t
}

// Edge is what there is to tell of an episode.
type Edge uint8

// The edges.
const (
	NoEdge Edge = iota
	Began
	GoesOn
	Ended
)

// Episode finds in a lane's tallies when shedding began and ended, so that a log
// needs no line per request. The zero Episode has seen nothing.
type Episode struct {
	on    bool
	begin time.Duration
	shed  time.Duration // when somebody was last shed
	told  time.Duration
	last  Tally
	from  Tally // as of its beginning
}

// Step takes in a tally. With any edge but NoEdge it returns how long the episode
// has lasted and what was shed in it.
func (e *Episode) Step(now time.Duration, t Tally) (edge Edge, lasted time.Duration, sum Tally) {
	shed := t.Shed > e.last.Shed
	if shed {
		e.shed = now
	}
	switch {
	case shed && !e.on:
		e.on, e.begin, e.told, e.from = true, now, now, e.last
		edge = Began
	case e.on && now-e.shed >= quiet:
		edge = Ended
	case e.on && now-e.told >= recap:
		e.told = now
		edge = GoesOn
	}
	e.last = t
	if edge == Ended {
		return e.End()
	}
	return edge, now - e.begin, t.since(&e.from)
}

// End ends the episode, if there is one: its lane is looked at no more.
func (e *Episode) End() (edge Edge, lasted time.Duration, sum Tally) {
	if !e.on {
		return NoEdge, 0, Tally{}
	}
	e.on = false
	return Ended, e.shed - e.begin, e.last.since(&e.from)
}
