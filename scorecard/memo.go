package scorecard

import "math/bits"

// A memo remembers, for the requests that came lately, which rules and counters
// count them: what the rules make of a request's tags depends on nothing else.
// It is a cache with one place for each hash, and says nothing that the rules do
// not; whatever could change their answer empties it.
type memo struct {
	now     uint64 // entries of other values are empty; 0 is no value
	shapes  [4]shape
	form    *Form // the one that has shapes[formAt]; nil: none is known to have one
	formAt  uint8
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
	n, used int // tags, and those of them that rules look at
	keys    [maxShape]string
	at      [maxShape]uint8 // of the tags that rules look at
}

// A verdict is the answer for all requests with the same values of the tags that
// rules look at. The values are copied: they are the caller's strings,
// which nothing may hold on to.
type verdict struct {
	as       uint64 // of memo.now
	caps     uint64 // of Card.mu.caps, as of which bounds are right
	shape    uint8
	n        uint8           // counters
	lens     [maxShape]uint8 // of the values
	ends     [maxShape]ends  // of the values
	counters [maxGroups]*counter
	bounds   [maxGroups]int
	rules    [maxGroups]*rule
	limit    *int          // of the lane; nil: not known
	long     [memoKey]byte // the values that ends do not tell
}

// forget empties the memo. Shapes are of a program's keys.
func (m *memo) forget() { m.now++ }

func (m *memo) reset() {
	m.forget()
	m.shapes, m.form = [len(m.shapes)]shape{}, nil
	if m.entries == nil {
		m.entries = make([]verdict, 1<<memoBits)
	}
}

// find returns the place for the verdict on a request of shape number i with these
// values, one for each of its tags, and whether it is there. A nil place means that
// it cannot be remembered.
func (m *memo) find(i int, values []string) (v *verdict, ok bool) {
	s := &m.shapes[i]
	var ends [maxShape]ends
	hash, size := uint64(i), 0
	for k, at := range s.at[:s.used] {
		value := values[at]
		e := &ends[k&(maxShape-1)]
		n := len(value)
		switch {
		case n >= 8:
			e.first, e.last = load64(value), load64(value[n-8:])
		case n >= 4:
			e.first, e.last = load32(value), load32(value[n-4:])
		case n > 0:
			e.first, e.last = uint64(value[0])|uint64(value[n/2])<<8, uint64(value[n-1])
		}
		size += n
		hash = bits.RotateLeft64(hash, 21) + (e.first ^ bits.RotateLeft64(e.last, 29) ^ uint64(n)<<16)
	}
	hash *= 0x9e3779b97f4a7c15
	if size > memoKey {
		return nil, false
	}
	v = &m.entries[hash>>(64-memoBits)&(1<<memoBits-1)]
	if v.as == m.now && int(v.shape) == i && v.is(s, values, &ends) {
		return v, true
	}
	v.become(i, s, values, &ends)
	return v, false
}

// ends are the first and the last eight bytes of a value, or four, or single ones;
// with its length they are all there is of it up to 16 bytes. As a hash they are no
// good one, nor safe from those who choose names that collide: such requests are not
// remembered.
type ends struct{ first, last uint64 }

const wholeEnds = 16

func load32(s string) uint64 {
	_ = s[3]
	return uint64(uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24)
}

func load64(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func (v *verdict) is(s *shape, values []string, ends *[maxShape]ends) bool {
	from := 0
	for k, at := range s.at[:s.used] {
		k &= maxShape - 1
		n := len(values[at])
		if n != int(v.lens[k]) || ends[k].first != v.ends[k].first || ends[k].last != v.ends[k].last {
			return false
		}
		if n > wholeEnds {
			if string(v.long[from:from+n]) != values[at] {
				return false
			}
			from += n
		}
	}
	return true
}

// become makes room for the verdict on other values, which is not yet known.
func (v *verdict) become(shape int, s *shape, values []string, ends *[maxShape]ends) {
	v.as, v.shape, v.n, v.limit = 0, uint8(shape), 0, nil
	v.ends = *ends
	from := 0
	for k, at := range s.at[:s.used] {
		value := values[at]
		v.lens[k] = uint8(len(value))
		if len(value) > wholeEnds {
			from += copy(v.long[from:], value)
		}
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
	m.shapes[i], m.form = p.shape(tags), nil
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
