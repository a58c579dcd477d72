package scorecard

import (
	"fmt"
	"slices"
)

// A Form is what the tags of many requests have alike: their keys, always in the same
// order, and the values of some. What follows from that alone is found once, and not for
// each request. Make it with [Card.NewForm]; it is for its Card only, whose lock guards it.
type Form struct {
	keys   []string
	fixed  []Tag
	era    int    // of the memo for which what follows is known; 0: none
	number uint64 // of the Form, there
	shape  shape  // of keys
}

// NewForm returns the Form of requests that have tags of these keys, and after them the
// fixed tags.
func (c *Card) NewForm(keys []string, fixed ...Tag) *Form {
	return &Form{keys: slices.Clone(keys), fixed: slices.Clone(fixed)}
}

// tags appends the tags of a request.
func (f *Form) tags(tags []Tag, values []string) []Tag {
	for i, key := range f.keys {
		tags = append(tags, Tag{key, values[i]})
	}
	return append(tags, f.fixed...)
}

// Lock locks the Card until Unlock. An owner who locks for each request in any case can
// keep his own state under this lock and call AskLocked, TakeLocked and ReleaseLocked, which
// saves a locking each. While he holds it he must call nothing else of the Card but
// what ends in Locked. It blocks while somebody else has the lock.
func (c *Card) Lock() { c.mu.Lock() }

// TryLock is Lock where nobody has the lock, and tells whether it was so. Unlike Lock it is
// compiled into its caller.
func (c *Card) TryLock() bool { return c.mu.TryLock() }

// Unlock ends what Lock began.
func (c *Card) Unlock() { c.mu.Unlock() }

// An Answer is what the rules say of a request, for as long as the lock is held. It is
// worth nothing once the Card was asked again.
type Answer struct {
	card *Card
	v    *verdict
	over uint8
}

// AskLocked asks the rules about a request with tags of these values, one for each
// of f's keys, and returns the refusal, if any, which it counts. Who is not refused is
// counted by TakeLocked or PassLocked. REQUIRES: the lock is held.
func (c *Card) AskLocked(f *Form, values []string) (Answer, *CapError) {
	if (f.era != c.mu.era || f.era == 0) && !c.mu.learn(&c.mu.program, f, values) {
		return c.askForm(f, values, nil)
	}
	v, known := c.mu.memo.find(&f.shape, f.number, values)
	if known {
		if over, why := c.repeat(v); v.whole || why != nil {
			return Answer{c, v, over}, why
		}
	}
	return c.askForm(f, values, v)
}

// askForm goes through the rules. v is the place of what they say, if it is remembered.
func (c *Card) askForm(f *Form, values []string, v *verdict) (Answer, *CapError) {
	if v != nil {
		c.mu.begin(v, &f.shape, f.number, values)
	}
	var buf [maxShape]Tag
	v, over, why := c.judge(&request{tags: f.tags(buf[:0], values)}, v)
	return Answer{c, v, over}, why
}

// learn finds out about a Form, and tells whether its requests can be remembered. Forms are
// alike that differ only in fixed tags that no rule looks at.
func (m *memo) learn(p *program, f *Form, values []string) bool {
	var buf [maxShape]Tag
	tags := f.tags(buf[:0], values)
	if len(tags) > maxShape || m.entries == nil {
		return false
	}
	s, key := p.shape(tags), fmt.Sprintf("%q", f.keys)
	f.shape = shape{}
	for _, at := range s.at[:s.used] {
		if i := int(at) - len(f.keys); i >= 0 {
			key += fmt.Sprintf("%q", f.fixed[i])
			continue
		}
		f.shape.at[f.shape.used] = at
		f.shape.used++
	}
	number, ok := m.forms[key]
	if !ok {
		if number = uint64(len(m.shapes) + len(m.forms)); number >= maxNumber {
			return false
		}
		if m.forms == nil {
			m.forms = make(map[string]uint64)
		}
		m.forms[key] = number
	}
	f.era, f.number = m.era, number
	return true
}

// TakeLocked counts the request in h, which must hold nothing: with that it is what
// [Card.Acquire] is. REQUIRES: the lock is held as it was when the Card was asked.
func (a Answer) TakeLocked(h *Hold) { a.card.take(a.v, a.over, h) }

// PassLocked counts the request as one that ended as soon as it began: something else
// than the rules refused it. REQUIRES: the lock is held as it was when the Card was asked.
// The zero Answer counts nothing.
func (a Answer) PassLocked() {
	if a.v != nil {
		a.v.pass(a.over)
	}
}

// AcquireLocked is [Card.Acquire] into h, which must hold nothing; refused, it is the
// zero Hold. REQUIRES: the lock is held.
func (c *Card) AcquireLocked(tags []Tag, h *Hold) *CapError {
	v, over, why := c.askTags(tags)
	if why != nil {
		*h = Hold{}
		return why
	}
	c.take(v, over, h)
	return nil
}

// SetLimitLocked is [Card.SetLimit]. REQUIRES: the lock is held.
func (c *Card) SetLimitLocked(lane string, n int) {
	if lane == "" {
		lane = defaultLane
	}
	c.mu.caps++
	if known := c.mu.limits[lane]; known != nil && n >= 1 {
		*known = n
		return
	}
	c.mu.forget()
	if n < 1 {
		delete(c.mu.limits, lane)
		return
	}
	if c.mu.limits == nil {
		c.mu.limits = make(map[string]*int)
	}
	c.mu.limits[lane] = new(n)
}

// ReleaseLocked is [Hold.Release]. REQUIRES: the lock of the Card is held, whichever
// it is.
func (h *Hold) ReleaseLocked() {
	for _, n := range h.counters[:h.n] {
		n.giveBack()
	}
	h.n = 0
}
