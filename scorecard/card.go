package scorecard

import (
	"sync"
	"time"

	"github.com/spillway-go/spillway/internal/spin"
)

// A Card counts inflight requests by rules. It is safe for concurrent use, and
// several controllers may share one. No method blocks for longer than its lock is
// held, but SetRules, SetMaxTenants and Sweep, one of which at a time walks through
// the table. The zero Card has no rules and refuses nothing. A Card must not be
// copied after first use.
type Card struct {
	walks sync.Mutex // one walk through the table at a time; taken before mu

	mu struct {
		spin.Mutex
		program // it and the table's buckets are replaced under walks too
		table
		memo
		limits  map[string]*int // by lane
		pressed bool
		caps    uint64    // goes up with all that moves a cap in force
		swept   time.Time // when Sweep was last called
	}
}

// New returns a Card with the given rules, or all that is wrong with them:
// each rule by itself as [Rule.Validate] says it, names that come twice, more
// than 8 groups, and rules that one before them in their group leaves nothing to
// count.
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
// released. Requests go on meanwhile.
func (c *Card) SetRules(rules ...Rule) error {
	p, err := compile(rules)
	if err != nil {
		return err
	}
	c.walks.Lock()
	defer c.walks.Unlock()
	gone := p.inherit(c.mu.rules)
	c.mu.Lock()
	c.mu.program = p
	if c.mu.buckets == nil {
		c.mu.makeRoom(defaultMax)
	}
	left := 0
	for _, l := range gone {
		left += c.mu.leave(l)
	}
	c.mu.memo.reset()
	c.mu.Unlock()
	if left > 0 {
		c.walk(func(from, to int) {
			c.mu.keep(from, to, func(n *counter) bool { return !n.ledger.left })
		})
	}
	return nil
}

// SetMaxTenants bounds how many values, or combinations of values, that rules
// with * tell apart have a counter of their own, over all rules. More cost
// about 150 bytes each; fewer let more tenants share the other buckets. The
// default is 10,000, which a number below 1 restores. When the bound is lowered
// no counter is lost: new ones wait until [Card.Sweep] has made room. Requests go
// on meanwhile.
func (c *Card) SetMaxTenants(n int) {
	if n < 1 {
		n = defaultMax
	}
	c.walks.Lock()
	defer c.walks.Unlock()
	c.mu.Lock()
	c.mu.makeRoom(n)
	c.mu.forget()
	c.mu.Unlock()
	if buckets := bucketsFor(n); buckets != len(c.mu.buckets) {
		c.move(newRows(buckets))
	}
}

// SetLimit says that the limit of a lane is now n: shares of it follow at once.
// It is the limit of requests whose lane tag has that value; requests without
// the tag, or with an empty one, are in the lane "default", and so is the lane
// "". With n below 1 the limit is unknown again, and shares are not enforced in
// the lane.
func (c *Card) SetLimit(lane string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.SetLimitLocked(lane, n)
}

// SetPressed says whether the service sheds at present, which is when the
// rules' UnderPressure caps hold too. Initially it does not.
func (c *Card) SetPressed(pressed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.pressed = pressed
	c.mu.caps++
}

// Acquire counts a request on every counter that matches its tags, or on none
// and returns why: a [*CapError] for the first rule that is at its cap, in the
// order of groups. Every request counts as one, whatever it costs. It does not
// keep tags nor, without copying, a value of them; of keys it keeps some dozens.
// It allocates only to begin the counter of a value not seen before.
func (c *Card) Acquire(tags []Tag) (h Hold, err error) {
	c.mu.Lock()
	why := c.AcquireLocked(tags, &h)
	c.mu.Unlock()
	if why != nil { // as an error, a nil *CapError would not be nil
		return h, why
	}
	return h, nil
}

// askTags looks the verdict up, or finds it rule by rule and leaves it in the
// memo. over has the bit of each part whose rule would refuse, but is in shadow.
func (c *Card) askTags(tags []Tag) (v *verdict, over uint8, why *CapError) {
	i := c.mu.shapeOf(&c.mu.program, tags)
	if i < 0 {
		return c.judge(&request{tags: tags}, nil)
	}
	s, number := &c.mu.shapes[i], uint64(i)
	var values [maxShape]string
	for k := range tags {
		values[k] = tags[k].Value
	}
	v, known := c.mu.memo.find(s, number, values[:])
	if known {
		if over, why = c.repeat(v); v.whole || why != nil {
			return v, over, why
		}
	}
	if v != nil {
		c.mu.begin(v, s, number, values[:])
	}
	return c.judge(&request{tags: tags}, v)
}

// repeat goes through the counters of a verdict.
func (c *Card) repeat(v *verdict) (over uint8, why *CapError) {
	if v.caps != c.mu.caps {
		c.renew(v)
	}
	for i := range v.parts[:v.n] {
		p := &v.parts[i]
		p.counter.used = true
		if p.counter.held < p.bound {
			continue
		}
		if !p.rule.shadow {
			p.counter.refuse()
			return 0, p.why
		}
		over |= 1 << i
	}
	return over, nil
}

// renew takes in the caps that are in force now.
func (c *Card) renew(v *verdict) {
	v.caps = c.mu.caps
	for i := range v.parts[:v.n] {
		p := &v.parts[i]
		p.bound, p.why = p.rule.bound(c.mu.pressed, v.limit)
	}
}

// judge goes through the rules. With v nil the verdict cannot be kept.
func (c *Card) judge(q *request, v *verdict) (_ *verdict, over uint8, why *CapError) {
	if v == nil {
		v = &c.mu.spare
	}
	c.mu.resolve(q)
	v.limit = nil
	if c.mu.shares {
		v.limit = c.mu.limits[q.lane(c.mu.laneSlot)]
	}
	v.caps, v.n, v.whole = c.mu.caps, 0, false
	for i := range c.mu.groups {
		r := c.mu.groups[i].match(q)
		if r == nil {
			continue
		}
		p := &v.parts[v.n]
		p.rule, p.counter = r, c.mu.counter(r, q)
		p.bound, p.why = r.bound(c.mu.pressed, v.limit)
		v.n++
		if p.counter.held < p.bound {
			continue
		}
		if !r.shadow {
			p.counter.refuse()
			return v, 0, p.why
		}
		over |= 1 << (v.n - 1)
	}
	v.whole = true
	return v, over, nil
}

// take counts a request that no rule refuses. What a rule in shadow would refuse
// takes no place, or the rule would go on to refuse what it has room for.
func (c *Card) take(v *verdict, over uint8, h *Hold) {
	h.card, h.n, h.shadowed = nil, 0, nil
	for i := range v.parts[:v.n] {
		p := &v.parts[i]
		if over&(1<<i) != 0 {
			p.counter.shadow()
			if h.shadowed == nil {
				h.shadowed = p.why
			}
			continue
		}
		p.counter.take()
		h.counters[h.n] = p.counter
		h.n++
	}
	if h.n > 0 {
		h.card = c
	}
}

// bound returns how many may be held on a counter of r, and the refusal of one
// more. limit is that of the request's lane, nil if it is not known.
func (r *rule) bound(pressed bool, limit *int) (int, *CapError) {
	n := 0
	if r.hasShare && limit != nil {
		n = *limit
	}
	bound, why := r.cap.of(n), r.calm
	if pressed && r.hasUp {
		// A number and a share: which one is the harder moves with the limit.
		if n := r.upCap.of(n); n <= bound {
			return n, r.pressed
		}
	}
	return bound, why
}

// pass counts a request that no rule refuses and that holds nothing.
func (v *verdict) pass(over uint8) {
	for i := range v.parts[:v.n] {
		n := v.parts[i].counter
		if over&(1<<i) != 0 {
			n.shadow()
		} else {
			n.ledger.admitted++
		}
	}
}
