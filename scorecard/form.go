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

// Lock locks the Card until Unlock. An owner who locks for each request in any case can
// keep his own state under this lock and call AskLocked, TakeLocked and ReleaseLocked, which
// saves a locking each. While he holds it he must call nothing else of the Card but
// what ends in Locked. It blocks while somebody else has the lock.
func (c *Card) Lock() { c.mu.Lock() }

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
	if c.mu.form != f {
		c.mu.learn(&c.mu.program, f, values)
	}
	if c.mu.form == f {
		if v := c.mu.memo.find(int(c.mu.formAt), values); v != nil {
			if over, why := c.repeat(v); v.whole || why != nil {
				return Answer{c, v, over}, why
			}
		}
	}
	return c.askForm(f, values)
}

// askForm goes through the rules.
func (c *Card) askForm(f *Form, values []string) (Answer, *CapError) {
	var (
		v   *verdict
		buf [maxShape]Tag
	)
	if c.mu.form == f {
		v = c.mu.begin(int(c.mu.formAt), values)
	}
	v, over, why := c.judge(&request{tags: f.tags(buf[:0], values)}, v)
	return Answer{c, v, over}, why
}

// learn makes f the Form whose shape is known, unless it has none.
func (m *memo) learn(p *program, f *Form, values []string) {
	var buf [maxShape]Tag
	if i := m.shapeOf(p, f.tags(buf[:0], values)); i >= 0 {
		m.form, m.formAt = f, uint8(i)
	}
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
