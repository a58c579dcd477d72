package scorecard

import (
	"math/bits"

	"github.com/spillway-go/spillway/internal/words"
)

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

	seen  glance  // of the request in question
	spare verdict // on requests that cannot be remembered
}

const (
	memoBits = 9
	memoKey  = 64 // bytes; requests with longer values are not remembered
	maxShape = 8  // tags, each of whose lengths has a byte of glance.lens

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
// rules look at. The last part of one that is not whole has refused: what other rules
// say is not known, nor asked for while it does. The values are copied: they are the caller's strings,
// which nothing may hold on to.
type verdict struct {
	as    uint64 // of memo.now
	caps  uint64 // of Card.mu.caps, as of which the parts are right
	shape uint8
	n     uint8 // parts
	whole bool  // there are no others
	glance
	parts [maxGroups]part
	limit *int          // of the lane; nil: not known
	long  [memoKey]byte // the values that a glance does not tell
}

// A part of a verdict is what one rule says.
type part struct {
	counter *counter
	bound   int       // how many may be held on it
	rule    *rule     // if it is known
	why     *CapError // the refusal of one more
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

// find returns the verdict on a request of shape number i with these values, one for
// each of its tags; nil if there is none.
func (m *memo) find(i int, values []string) *verdict {
	s := &m.shapes[i]
	hash, n, size := m.seen.at(s, values)
	if size > memoKey {
		return nil
	}
	v := m.place(i, hash)
	if v.as != m.now || int(v.shape) != i || !v.looks(n, &m.seen) {
		return nil
	}
	if v.lens&lensAbove15 != 0 && !v.is(s, values) {
		return nil
	}
	return v
}

// place returns where verdicts on requests of that hash have their place.
func (m *memo) place(i int, hash uint64) *verdict {
	hash = (hash + uint64(i)) * 0x9e3779b97f4a7c15
	return &m.entries[hash>>(64-memoBits)&(1<<memoBits-1)]
}

// A glance is what is looked at of a request's values: their lengths, and of each
// the first and the last eight bytes, which is all there is of it up to 16 bytes; up to
// eight they fit into one word. As a hash these are no good one, nor safe from those who
// choose names that collide: such requests are not remembered.
type glance struct {
	lens  uint64 // a byte for each value
	words [2 * maxShape]uint64
}

const (
	wholeWords  = 16                 // bytes
	lensAbove15 = 0xf0f0f0f0f0f0f0f0 // of these one is set if a length is above 15
)

// at looks, and returns a hash, how many words it has seen, and how many bytes there are.
func (g *glance) at(s *shape, values []string) (hash uint64, n, size int) {
	lens := uint64(0)
	for _, at := range s.at[:s.used] {
		value, word := values[at], uint64(0)
		switch length := len(value); {
		case length > 8:
			last := words.Load64(value[length-8:])
			g.words[n&(len(g.words)-1)] = last
			hash = bits.RotateLeft64(hash, 21) + last
			n++
			word = words.Load64(value)
		case length == 8:
			word = words.Load64(value)
		case length >= 4:
			word = words.Load32(value) | words.Load32(value[length-4:])<<32
		case length > 0:
			word = uint64(value[0]) | uint64(value[length/2])<<8 | uint64(value[length-1])<<16
		}
		g.words[n&(len(g.words)-1)] = word
		hash = bits.RotateLeft64(hash, 21) + word
		n++
		size += len(value)
		lens = lens<<8 | uint64(len(value))&0xff
	}
	g.lens = lens
	return hash + lens, n, size
}

// looks tells whether two glances of so many words saw the same.
func (g *glance) looks(n int, as *glance) bool {
	differ := g.lens ^ as.lens
	a, b := g.words[:n], as.words[:n]
	for k := range a {
		differ |= a[k] ^ b[k]
	}
	return differ == 0
}

// is tells whether the values are those of the verdict, which looks as they do.
func (v *verdict) is(s *shape, values []string) bool {
	from := 0
	for _, at := range s.at[:s.used] {
		if value := values[at]; len(value) > wholeWords {
			if string(v.long[from:from+len(value)]) != value {
				return false
			}
			from += len(value)
		}
	}
	return true
}

// begin returns the place for the verdict on a request, with what it is found by; nil
// if it cannot be remembered.
func (m *memo) begin(i int, values []string) *verdict {
	s := &m.shapes[i]
	hash, _, size := m.seen.at(s, values)
	if size > memoKey {
		return nil
	}
	v := m.place(i, hash)
	v.shape, v.glance = uint8(i), m.seen
	from := 0
	for _, at := range s.at[:s.used] {
		if value := values[at]; len(value) > wholeWords {
			from += copy(v.long[from:], value)
		}
	}
	return v
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
