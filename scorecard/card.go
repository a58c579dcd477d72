package scorecard

import (
	"sync"
	"time"
)

// A Card counts inflight requests by rules. It is safe for concurrent use, no
// method blocks for longer than its lock is held, and several controllers may
// share one. The zero Card has no rules and refuses nothing. A Card must not
// be copied after first use.
type Card struct {
	mu struct {
		sync.Mutex
		program
		table
		limits  map[string]int // by lane
		pressed bool
		swept   time.Time // when Sweep was last called
	}
}

// New returns a Card with the given rules, or all that is wrong with them:
// each rule by itself as [Rule.Validate] says it, names that come twice, and
// more than 8 groups.
func New(rules ...Rule) (*Card, error) {
	c := new(Card)
	if err := c.SetRules(rules...); err != nil {
		return nil, err
	}
	return c, nil
}

// SetRules replaces the rules, whole or, if it returns an error (see [New]),
// not at all. A rule whose Name and Match stay keeps its counters and counts,
// whatever else of it changes; running requests beyond a lowered cap go on.
// The counters of other rules leave the Card; holds on them can still be
// released.
func (c *Card) SetRules(rules ...Rule) error {
	p, err := compile(rules)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	old := make(map[string]*ledger, len(c.mu.rules))
	for _, r := range c.mu.rules {
		old[r.identity] = r.ledger
	}
	kept := make(map[*ledger]bool, len(p.rules))
	for _, r := range p.rules {
		if l := old[r.identity]; l != nil {
			r.ledger = l
			kept[l] = true
		}
	}
	c.mu.keep(0, len(c.mu.buckets), func(n *counter) bool { return kept[n.ledger] })
	c.mu.program = p
	if c.mu.buckets == nil {
		c.mu.resize(defaultMax)
	}
	return nil
}

// SetMaxTenants bounds how many values, or combinations of values, that rules
// with * tell apart have a counter of their own, over all rules. More cost
// about 150 bytes each; fewer let more tenants share the other buckets. The
// default is 10,000, which a number below 1 restores. When the bound is lowered
// no counter is lost: new ones wait until [Card.Sweep] has made room.
func (c *Card) SetMaxTenants(n int) {
	if n < 1 {
		n = defaultMax
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.resize(n)
}

// SetLimit says that the limit of a lane is now n: shares of it follow at once.
// It is the limit of requests whose lane tag has that value; requests without
// the tag, or with an empty one, are in the lane "default", and so is the lane
// "". With n below 1 the limit is unknown again, and shares are not enforced in
// the lane.
func (c *Card) SetLimit(lane string, n int) {
	if lane == "" {
		lane = defaultLane
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if n < 1 {
		delete(c.mu.limits, lane)
		return
	}
	if c.mu.limits == nil {
		c.mu.limits = make(map[string]int)
	}
	c.mu.limits[lane] = n
}

// SetPressed says whether the service sheds at present, which is when the
// rules' UnderPressure caps hold too. Initially it does not.
func (c *Card) SetPressed(pressed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.pressed = pressed
}

// Acquire counts a request on every counter that matches its tags, or on none
// and returns why: a [*CapError] for the first rule that is at its cap, in the
// order of groups. Every request counts as one, whatever it costs. It keeps
// neither tags nor, without copying, any string of them. It allocates only to
// begin the counter of a value not seen before.
func (c *Card) Acquire(tags []Tag) (h Hold, err error) {
	q := request{tags: tags}
	c.mu.Lock()
	refusal := c.acquireLocked(&q, &h)
	c.mu.Unlock()
	if refusal != nil { // as an error, a nil *CapError would not be nil
		return Hold{}, refusal
	}
	return h, nil
}

func (c *Card) acquireLocked(q *request, h *Hold) *CapError {
	c.mu.resolve(q)
	var over uint // the bit of each counter of h whose shadow rule would refuse
	for i := range c.mu.groups {
		r := c.mu.groups[i].match(q)
		if r == nil {
			continue
		}
		n := c.mu.counter(r, q)
		if bound, why := c.boundLocked(r, q); n.held >= bound {
			if !r.shadow {
				n.refuse()
				return why
			}
			over |= 1 << h.n
		}
		h.counters[h.n] = n
		h.n++
	}
	// Only now is it sure that no rule refuses.
	for i, n := range h.counters[:h.n] {
		n.take()
		if over&(1<<i) != 0 {
			n.refused++
			n.ledger.shadowed++
		}
	}
	if h.n > 0 {
		h.card = c
	}
	return nil
}

// boundLocked returns how many may be held on a counter of r, and the refusal
// of one more.
func (c *Card) boundLocked(r *rule, q *request) (int, *CapError) {
	limit := 0
	if r.hasShare {
		limit = c.mu.limits[q.lane(c.mu.laneSlot)]
	}
	bound, why := r.cap.of(limit), r.calm
	if c.mu.pressed && r.hasUp {
		// A number and a share: which one is the harder moves with the limit.
		if n := r.upCap.of(limit); n <= bound {
			return n, r.pressed
		}
	}
	return bound, why
}
