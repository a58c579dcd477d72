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
	now     uint64 // what entries are as of that are not empty, see verdict.as
	shapes  [4]shape
	oldest  int               // of shapes, which the next new one replaces
	strange int               // requests of no shape, since one was replaced
	era     int               // how often the rules were set
	forms   map[string]uint64 // numbers of Forms, by what tells them apart
	entries []verdict

	seen  glance  // of the request in question
	spare verdict // on requests that cannot be remembered
}

const (
	memoBits = 9
	memoKey  = 64 // bytes; requests of whose values a glance leaves out more are not remembered
	maxShape = 8  // tags, each of whose lengths has a byte of glance.lens

	// A new shape empties the memo and allocates: who has more shapes than there
	// is room for shall pay for that now and then, not with every request.
	shapeEvery = 1 << 10

	maxNumber = 1 << 16 // of shapes, which have the first ones, and Forms
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
	as    uint64 // memo.now plus the number of the shape or Form
	caps  uint64 // of Card.mu.caps, as of which the parts are right
	n     uint8  // parts
	whole bool   // there are no others
	glance
	parts [maxGroups]part
	limit *int          // of the lane; nil: not known
	rests [memoKey]byte // what a glance does not tell of the values
}

// A part of a verdict is what one rule says.
type part struct {
	counter *counter
	bound   int       // how many may be held on it
	rule    *rule     // if it is known
	why     *CapError // the refusal of one more
}

// forget empties the memo. Shapes are of a program's keys.
func (m *memo) forget() { m.now += maxNumber }

func (m *memo) reset() {
	m.forget()
	m.era++
	m.shapes, m.forms = [len(m.shapes)]shape{}, nil
	if m.entries == nil {
		m.entries = make([]verdict, 1<<memoBits)
	}
}

// A glance is what is looked at of a request's values: of each a word, which tells a
// shorter one than itself whole and of a long one the beginning, and of long ones the last
// word too, and how long they are. As a hash these are no good one, nor safe from those who
// choose names that collide: such requests are not remembered.
type glance struct {
	lens  uint64 // a byte for each value; of short ones zero
	words [maxShape]uint64
	lasts [maxShape]uint64 // of the long ones, in their order
}

const wordLen = 8 // bytes, from which a value is long

// find takes a glance at a request of a shape, which has a number, with these values, one
// for each of its tags. It returns the place of the verdict on it, and whether the verdict
// there is that one; nil if a verdict on it is not remembered.
func (m *memo) find(s *shape, number uint64, values []string) (v *verdict, known bool) {
	seen, hash := &m.seen, number
	lens, long, longest, rest := uint64(0), 0, 0, 0
	for k, at := range s.at[:s.used] {
		value, word := values[at], uint64(0)
		switch length := len(value); {
		case length >= wordLen:
			word = words.Load64(value)
			last := words.Load64(value[length-wordLen:])
			seen.lasts[long&(maxShape-1)] = last
			hash += last
			lens |= uint64(length) & 0xff << (8 * k & 63)
			long, longest, rest = long+1, max(longest, length), rest+length-wordLen
		case length >= 4:
			word = words.Load32(value) | words.Load32(value[length-4:])<<24 | uint64(length)<<56
		case length > 0:
			word = uint64(value[0]) | uint64(value[length/2])<<8 | uint64(value[length-1])<<16 | uint64(length)<<56
		}
		seen.words[k&(maxShape-1)] = word
		hash = bits.RotateLeft64(hash, 21) + word
	}
	if rest > memoKey {
		return nil, false
	}
	seen.lens = lens
	v = m.place(hash + lens)
	if v.as != m.now+number || v.differs(s.used, long, seen) {
		return v, false
	}
	return v, longest <= 2*wordLen || v.is(s, values)
}

// place returns where verdicts on requests of that hash have their place.
func (m *memo) place(hash uint64) *verdict {
	return &m.entries[hash*0x9e3779b97f4a7c15>>(64-memoBits)&(1<<memoBits-1)]
}

// differs tells whether two glances at so many values, and so many long ones, saw
// different ones.
func (g *glance) differs(n, long int, from *glance) bool {
	differ := g.lens ^ from.lens
	a, b := g.words[:n], from.words[:n]
	for k := range a {
		differ |= a[k] ^ b[k]
	}
	a, b = g.lasts[:long], from.lasts[:long]
	for k := range a {
		differ |= a[k] ^ b[k]
	}
	return differ != 0
}

// is tells whether the values are those of the verdict, which look as they do.
func (v *verdict) is(s *shape, values []string) bool {
	from := 0
	for _, at := range s.at[:s.used] {
		if value := values[at]; len(value) > 2*wordLen {
			rest := value[wordLen:]
			if string(v.rests[from:from+len(rest)]) != rest {
				return false
			}
			from += len(rest)
		}
	}
	return true
}

// begin gives the place that find has just returned to the request that it was asked
// for, whose verdict is to follow.
func (m *memo) begin(v *verdict, s *shape, number uint64, values []string) {
	v.as, v.glance = m.now+number, m.seen
	from := 0
	for _, at := range s.at[:s.used] {
		if value := values[at]; len(value) > 2*wordLen {
			from += copy(v.rests[from:], value[wordLen:])
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
