package scorecard

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
)

const (
	// maxGroups bounds the counters one request can take, so that a Hold has
	// room for them in itself.
	maxGroups = 8

	maxKeys = maxGroups*maxTerms + 1 // and the lane
)

// A program is a set of rules made ready for requests. It does not change,
// only the ledgers that its rules point to do.
type program struct {
	keys     []string // by slot
	groups   []group  // in the order of their first rules
	rules    []*rule  // in the order given
	shares   bool     // a rule has one
	laneSlot uint8    // if shares

	// candidates holds, by keyHash, which slots a key can have.
	candidates [64]uint64
}

// A rule is a Rule made ready.
type rule struct {
	order         int
	terms         []term  // by slot
	wild          uint64  // slots of the terms with *
	wildSlots     []uint8 // the same, in the order written
	cap, upCap    Cap
	hasUp, shadow bool
	hasShare      bool // the lane's limit matters
	calm, pressed *CapError
	*ledger       // outlives the rule when one of the same identity follows it
}

// compile makes a program of rules, each with an empty ledger, or says all
// that is wrong with them.
func compile(rules []Rule) (program, error) {
	var (
		p    program
		errs []error
		seen = make(map[string]bool)
	)
	for i, r := range rules {
		terms, faults := r.compile(i)
		errs = append(errs, faults...)
		if r.Name != "" && seen[r.Name] {
			errs = append(errs, &fault{r, i, "name", fmt.Sprintf("%.80q", r.Name), "must not be that of another rule"})
		}
		seen[r.Name] = true
		p.rules = append(p.rules, newRule(r, i, terms))
	}
	if errs != nil {
		return program{}, errors.Join(errs...)
	}
	for _, r := range p.rules {
		if err := p.place(r); err != nil {
			return program{}, err
		}
	}
	for i := range p.groups {
		errs = append(errs, p.groups[i].idle(rules)...)
	}
	if errs != nil {
		return program{}, errors.Join(errs...)
	}
	if p.shares = slices.ContainsFunc(p.rules, func(r *rule) bool { return r.hasShare }); p.shares {
		p.laneSlot = p.slot(laneKey)
	}
	for i := range p.groups {
		p.groups[i].index()
	}
	return p, nil
}

// inherit has the rules take over the ledgers of rules of the same identity, and
// returns the ledgers that none takes over.
func (p *program) inherit(before []*rule) (gone []*ledger) {
	old := make(map[string]*ledger, len(before))
	for _, r := range before {
		old[r.identity] = r.ledger
	}
	for _, r := range p.rules {
		if l := old[r.identity]; l != nil {
			delete(old, r.identity)
			r.ledger = l
		}
	}
	return slices.Collect(maps.Values(old))
}

func newRule(r Rule, order int, terms []term) *rule {
	c := &rule{
		order: order, terms: slices.Clone(terms), cap: r.Cap, shadow: r.Shadow,
		calm:   &CapError{Rule: r.Name, Cap: r.Cap},
		ledger: newLedger(r.Name, terms),
	}
	if r.UnderPressure != nil {
		c.hasUp, c.upCap = true, *r.UnderPressure
		c.pressed = &CapError{Rule: r.Name, Cap: c.upCap, Pressed: true}
	}
	c.hasShare = c.cap.Share > 0 || c.upCap.Share > 0
	return c
}

// place gives the rule's keys their slots and puts it into its group.
func (p *program) place(r *rule) error {
	var keys uint64
	for i := range r.terms {
		t := &r.terms[i]
		t.slot = p.slot(t.key)
		keys |= 1 << t.slot
		if t.wild {
			r.wild |= 1 << t.slot
			r.wildSlots = append(r.wildSlots, t.slot)
		}
	}
	slices.SortFunc(r.terms, func(a, b term) int { return cmp.Compare(a.slot, b.slot) })
	for i := range p.groups {
		if g := &p.groups[i]; g.keys == keys && g.shadow == r.shadow {
			g.rules = append(g.rules, r)
			return nil
		}
	}
	if len(p.groups) == maxGroups {
		// The keys of further groups could be more than there are slots.
		return &fault{
			Rule{Name: r.name},
			r.order, "match", fmt.Sprintf("%.80q", showMatch(r.pattern)),
			fmt.Sprintf("must name the same keys as rules before it: there can be %d sets of keys, those of shadow rules counted apart", maxGroups),
		}
	}
	p.groups = append(p.groups, group{keys: keys, shadow: r.shadow, rules: []*rule{r}})
	return nil
}

// idle names the rules of the group that can never count, since one before them
// matches all that they do: whoever wrote them meant something else. Only a rule with *
// matches more than another one does, so that exceptions, of which there may be
// thousands, are not compared with each other.
func (g *group) idle(rules []Rule) (errs []error) {
	var wild []*rule
	exact := make(map[string]*rule)
	for _, r := range g.rules {
		pattern := showMatch(r.terms)
		before := exact[pattern]
		if i := slices.IndexFunc(wild, func(w *rule) bool { return w.covers(r) }); i >= 0 && (before == nil || wild[i].order < before.order) {
			before = wild[i]
		}
		if before != nil {
			errs = append(errs, &fault{rules[r.order], r.order, "match", fmt.Sprintf("%.80q", showMatch(r.pattern)), fmt.Sprintf(
				"must not stand after rule %.80q, which counts all that this would: exceptions come first", before.name)})
			continue
		}
		if r.wild != 0 {
			wild = append(wild, r)
		} else {
			exact[pattern] = r
		}
	}
	return errs
}

// covers tells whether r matches all that other does. They are of one group.
func (r *rule) covers(other *rule) bool {
	for i := range r.terms {
		if !r.terms[i].covers(&other.terms[i]) {
			return false
		}
	}
	return true
}

// slot returns the slot of key, a new one if it has none yet.
func (p *program) slot(key string) uint8 {
	i := slices.Index(p.keys, key)
	if i < 0 {
		i = len(p.keys)
		p.keys = append(p.keys, key)
		p.candidates[keyHash(key)] |= 1 << i
	}
	return uint8(i)
}

// keyHash is enough to pass over most keys that no rule names. The key is not
// empty.
func keyHash(key string) uint { return (uint(key[0]) + 8*uint(len(key))) % 64 }
