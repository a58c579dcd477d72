package scorecard

import (
	"math/bits"
	"slices"
)

// resolve finds the slots of the request's tags.
func (p *program) resolve(q *request) {
	for i := range q.tags[:min(len(q.tags), maxTags)] {
		t := &q.tags[i]
		if t.Key == "" {
			continue
		}
		// Without the slots filled: of tags with one key the first counts.
		for set := p.candidates[keyHash(t.Key)] &^ q.present; set != 0; set &= set - 1 {
			slot := bits.TrailingZeros64(set)
			if p.keys[slot] != t.Key {
				continue
			}
			q.present |= 1 << slot
			q.at[slot] = uint8(i)
			if len(t.Value) > maxValue {
				q.long |= 1 << slot
			}
			if q.present == 1<<len(p.keys)-1 {
				return
			}
			break
		}
	}
}

// A group is the rules that name the same keys, enforced and shadow ones
// apart: one of them at most counts for a request.
type group struct {
	keys   uint64
	shadow bool
	rules  []*rule // in the order given, without those in exact

	// first holds the first term of each of rules: most rules are passed over
	// for their first term, and need not be looked at for it.
	first []term

	// exact is nil or holds the rules without *, by the first term's value.
	exact map[string][]*rule
}

// indexFrom is how many rules without * a group must have before a map finds
// one sooner than comparing them in turn does.
const indexFrom = 9

// index makes the group ready for match.
func (g *group) index() {
	isExact := func(r *rule) bool { return r.wild == 0 }
	exact := slices.DeleteFunc(slices.Clone(g.rules), func(r *rule) bool { return !isExact(r) })
	if len(exact) >= indexFrom {
		g.rules = slices.DeleteFunc(g.rules, isExact)
		g.exact = make(map[string][]*rule, len(exact))
		for _, r := range exact {
			value := r.terms[0].value
			g.exact[value] = append(g.exact[value], r)
		}
	}
	for _, r := range g.rules {
		g.first = append(g.first, r.terms[0])
	}
}

// match returns the first rule of the group that the request matches, or nil.
func (g *group) match(q *request) *rule {
	if q.present&g.keys != g.keys {
		return nil
	}
	value := q.value(uint8(bits.TrailingZeros64(g.keys)))
	var found *rule
	if g.exact != nil {
		found = firstMatch(g.exact[value], q)
	}
	for i := range g.first {
		if !g.first[i].matches(value) {
			continue
		}
		r := g.rules[i]
		if found != nil && found.order < r.order {
			break
		}
		if r.matchesRest(q) {
			return r
		}
	}
	return found
}

func firstMatch(rules []*rule, q *request) *rule {
	for _, r := range rules {
		if r.matchesRest(q) {
			return r
		}
	}
	return nil
}

// matchesRest reports whether the terms but the first match.
func (r *rule) matchesRest(q *request) bool {
	for i := 1; i < len(r.terms); i++ {
		if t := &r.terms[i]; !t.matches(q.value(t.slot)) {
			return false
		}
	}
	return true
}
