package scorecard

import "math"

// A Standing is how a request stands with one rule that it matches.
type Standing struct {
	Rule    string // the rule's name
	Value   string // whose counter it is, as in TenantCount: escape it before showing it
	Held    int    // requests inflight on that counter
	Cap     Cap    // the cap in force: the harder one while the service sheds
	Bound   int    // the same in requests; -1: a share of a limit that is not known
	Pressed bool   // Cap is the rule's UnderPressure
	Shadow  bool   // the rule refuses nobody
	Full    bool   // one more is beyond the bound
}

// Standings returns how a request with these tags stands with each rule that
// it matches, in the order in which [Card.Acquire] looks at them, as of one
// moment. It takes nothing and begins no counter. Acquire would refuse if one
// of the rules that are not in shadow is full.
func (c *Card) Standings(tags []Tag) []Standing {
	q := request{tags: tags}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.resolve(&q)
	var all []Standing
	for i := range c.mu.groups {
		r := c.mu.groups[i].match(&q)
		if r == nil {
			continue
		}
		n := c.mu.peek(r, &q)
		bound, why := r.bound(c.mu.pressed, c.mu.limits[q.lane(c.mu.laneSlot)])
		s := Standing{
			Rule: r.name, Value: n.show(), Held: n.held, Cap: why.Cap, Bound: bound,
			Pressed: why.Pressed, Shadow: r.shadow, Full: n.held >= bound,
		}
		if bound == math.MaxInt {
			s.Bound = -1
		}
		all = append(all, s)
	}
	return all
}

// peek returns the counter that a request would be counted on, or what a new
// one would be.
func (t *table) peek(r *rule, q *request) *counter {
	if r.wild == 0 || r.wild&q.long != 0 {
		return &r.common
	}
	if n := t.find(r, q, t.hash(r, q)); n != nil {
		return n
	}
	if t.len >= t.max {
		return &r.common
	}
	n := &counter{ledger: r.ledger}
	for _, slot := range r.wildSlots {
		n.values = append(n.values, q.value(slot))
	}
	return n
}
