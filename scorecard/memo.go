package scorecard

import "math/bits"

// A memo remembers, for the requests that came lately, which rules and counters
// count them: what the rules make of a request's tags depends on nothing else.
// It is a cache with one place for each hash, and says nothing that the rules do
// not; whatever could change their answer empties it.
type memo struct {
	now     uint64 // entries of other values are empty; 0 is no value
	shapes  [4]shape
	oldest  int // of shapes, which the next new one replaces
	strange int // requests of no shape, since one was replaced
	entries []verdict
}

const (
	memoBits = 9
	memoKey  = 64 // bytes; requests with longer values are not remembered
	maxShape = 8  // tags

	// A new shape empties the memo and allocates: who has more shapes than there
	// is room for shall pay for that now and then, not with every request.
	shapeEvery = 1 << 10
)

// A shape is which keys a request's tags have. A service has few of them, and
// the places of the tags that matter are the same in all requests of one.
type shape struct {
	n, used int
	keys    [maxShape]string
	at      [maxShape]uint8 // of the tags that rules look at
}

// A verdict is the answer for all requests with the same values of the tags that
// rules look at. The values are copied: they are the caller's strings,
// which nothing may hold on to.
type verdict struct {
	as       uint64 // of memo.now
	shape    uint8
	ends     [maxShape]uint8 // of each value in values
	values   [memoKey]byte
	n        int
	limit    *int // of the lane; nil: not known
	rules    [maxGroups]*rule
	counters [maxGroups]*counter
}

// forget empties the memo. Shapes are of a program's keys.
func (m *memo) forget() { m.now++ }

func (m *memo) reset() {
	m.forget()
	m.shapes = [len(m.shapes)]shape{}
	if m.entries == nil {
		m.entries = make([]verdict, 1<<memoBits)
	}
}

// find returns the place for the verdict on a request with these tags, and
// whether it is there. A nil place means that it cannot be remembered.
func (m *memo) find(p *program, tags []Tag) (v *verdict, ok bool) {
	i := m.shapeOf(p, tags)
	if i < 0 {
		return nil, false
	}
	s := &m.shapes[i]
	hash, size := uint64(i), 0
	for _, at := range s.at[:s.used] {
		value := tags[at].Value
		size += len(value)
		hash = (hash ^ glance(value)) * 0x9e3779b97f4a7c15
	}
	if size > memoKey {
		return nil, false
	}
	v = &m.entries[hash>>(64-memoBits)]
	if v.as == m.now && v.shape == uint8(i) && v.is(s, tags) {
		return v, true
	}
	v.become(uint8(i), s, tags)
	return v, false
}

// glance is a hash of the value's length and ends. It is no good one, nor safe
// from those who choose names that collide: such requests are not remembered.
func glance(s string) uint64 {
	n := len(s)
	switch {
	case n >= 8:
		return load64(s) ^ bits.RotateLeft64(load64(s[n-8:]), 29) ^ uint64(n)
	case n > 0:
		return uint64(s[0]) | uint64(s[n/2])<<8 | uint64(s[n-1])<<16 | uint64(s[n/4])<<24 | uint64(n)<<32
	}
	return 0
}

func load64(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func (v *verdict) is(s *shape, tags []Tag) bool {
	from := 0
	for i, at := range s.at[:s.used] {
		value := tags[at].Value
		to := from + len(value)
		if to != int(v.ends[i]) || string(v.values[from:to]) != value {
			return false
		}
		from = to
	}
	return true
}

// become makes room for the verdict on other values, which is not yet known.
func (v *verdict) become(shape uint8, s *shape, tags []Tag) {
	v.as, v.shape, v.n, v.limit = 0, shape, 0, nil
	to := 0
	for i, at := range s.at[:s.used] {
		to += copy(v.values[to:], tags[at].Value)
		v.ends[i] = uint8(to)
	}
}

// shapeOf returns the index of the tags' shape, or -1 if they have none.
func (m *memo) shapeOf(p *program, tags []Tag) int {
	if len(tags) == 0 || len(tags) > maxShape || m.entries == nil {
		return -1
	}
	for i := range m.shapes {
		if m.shapes[i].is(tags) {
			return i
		}
	}
	i := m.oldest
	if m.strange++; m.shapes[i].n > 0 && m.strange < shapeEvery {
		return -1
	}
	m.strange, m.oldest = 0, (m.oldest+1)%len(m.shapes)
	m.shapes[i] = p.shape(tags)
	m.forget()
	return i
}

func (s *shape) is(tags []Tag) bool {
	if s.n != len(tags) {
		return false
	}
	for i := range tags {
		if tags[i].Key != s.keys[i] {
			return false
		}
	}
	return true
}

func (p *program) shape(tags []Tag) shape {
	s := shape{n: len(tags)}
	q := request{tags: tags}
	p.resolve(&q)
	for i := range tags {
		s.keys[i] = tags[i].Key
	}
	for slot := range p.keys {
		if q.present&(1<<slot) != 0 {
			s.at[s.used] = q.at[slot]
			s.used++
		}
	}
	return s
}
