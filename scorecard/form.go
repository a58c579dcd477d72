package scorecard

// A Form is the keys that the tags of many requests have, always in the same order:
// what follows from them alone is found once, and not for each request. It does not
// change; make it with [NewForm].
type Form struct{ keys []string }

// NewForm returns the Form of these keys.
func NewForm(keys ...string) *Form { return &Form{keys} }

// tags appends the tags of a request.
func (f *Form) tags(tags []Tag, values []string) []Tag {
	for i, key := range f.keys {
		tags = append(tags, Tag{key, values[i]})
	}
	return tags
}

// shapeOfForm is shapeOf for a Form.
func (m *memo) shapeOfForm(p *program, f *Form, values []string) int {
	if m.form == f {
		return int(m.formAt)
	}
	var buf [maxShape]Tag
	i := m.shapeOf(p, f.tags(buf[:0], values))
	if i >= 0 {
		m.form, m.formAt = f, uint8(i)
	}
	return i
}

// Lock locks the Card until Unlock. An owner who locks for each request in any case can
// keep his own state under this lock and call AcquireLocked and ReleaseLocked, which
// saves a locking each. While he holds it he must call nothing else of the Card but
// what ends in Locked. It blocks while somebody else has the lock.
func (c *Card) Lock() { c.mu.Lock() }

// Unlock ends what Lock began.
func (c *Card) Unlock() { c.mu.Unlock() }

// AcquireLocked is [Card.Acquire] for tags of these values, one for each of f's keys.
// It fills in h, which must hold nothing, and returns the refusal, if any.
// REQUIRES: the lock is held.
func (c *Card) AcquireLocked(f *Form, values []string, h *Hold) *CapError {
	h.card, h.n, h.over, h.shadowed = nil, 0, 0, nil
	why := c.acquireForm(f, values, h)
	if why != nil {
		h.n = 0
	}
	return why
}

func (c *Card) acquireForm(f *Form, values []string, h *Hold) *CapError {
	var v *verdict
	if i := c.mu.shapeOfForm(&c.mu.program, f, values); i >= 0 {
		var known bool
		if v, known = c.mu.memo.find(i, values); known {
			return c.repeat(v, h)
		}
	}
	var buf [maxShape]Tag
	return c.judge(&request{tags: f.tags(buf[:0], values)}, v, h)
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
