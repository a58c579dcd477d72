package scorecard

import (
	"cmp"
	"slices"
	"strings"
)

// A Count is what one rule has counted.
type Count struct {
	Rule string // its name

	Held      int // requests inflight now, over all its counters
	Distinct  int // values of * that have a counter of their own now
	OtherHeld int // of Held, those in the other bucket

	// Since the rule was first set:
	Admitted uint64 // requests counted
	Refused  uint64 // requests refused by this rule
	Shadowed uint64 // of Admitted, those it would have refused were it not a shadow rule
}

// Counts returns the count of each rule, in the order of the rules, all as of
// one moment.
func (c *Card) Counts() []Count {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := make([]Count, len(c.mu.rules))
	for i, r := range c.mu.rules {
		counts[i] = Count{
			Rule: r.name, Held: r.held, Distinct: r.distinct,
			Admitted: r.admitted, Refused: r.refused, Shadowed: r.shadowed,
		}
		if r.wild != 0 {
			counts[i].OtherHeld = r.common.held
		}
	}
	return counts
}

const (
	noneValue  = "(none)"
	otherValue = "(other)"
)

// A TenantCount is what one counter has counted.
type TenantCount struct {
	Rule string // the rule's name

	// Value is the value that * stood for; with several * all of them, in the
	// order of the pattern, joined by ";". For a rule without * it is the
	// values of the pattern. An empty value reads (none), the other bucket
	// (other). It comes from the caller: escape it before showing it.
	Value string

	Held    int    // requests inflight now
	Refused uint64 // requests refused or, under a shadow rule, that would have been
}

// Top returns the k counters with the most refusals since each began, those
// with as many by most held, then by rule and value; none for k below 1. It
// looks at every counter while it holds the Card's lock: it is for people and
// scrapes, not for every request.
func (c *Card) Top(k int) []TenantCount {
	all := c.readings()
	slices.SortFunc(all, func(a, b reading) int {
		return cmp.Or(
			cmp.Compare(b.refused, a.refused),
			cmp.Compare(b.held, a.held),
			cmp.Compare(a.ledger.name, b.ledger.name),
			slices.Compare(a.values, b.values),
		)
	})
	top := make([]TenantCount, max(0, min(k, len(all))))
	for i := range top {
		n := all[i]
		top[i] = TenantCount{Rule: n.ledger.name, Value: n.show(), Held: n.held, Refused: n.refused}
	}
	return top
}

// A reading is a counter and what it counted at one moment.
type reading struct {
	*counter
	held    int
	refused uint64
}

// readings reads all counters; sorting and showing them needs no lock.
func (c *Card) readings() []reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]reading, 0, c.mu.table.len+len(c.mu.rules))
	for _, r := range c.mu.rules {
		if n := &r.common; r.wild == 0 || n.held > 0 || n.refused > 0 {
			all = append(all, reading{n, n.held, n.refused})
		}
	}
	for _, n := range c.mu.buckets {
		for ; n != nil; n = n.next {
			all = append(all, reading{n, n.held, n.refused})
		}
	}
	return all
}

// show returns the values that the counter is for.
func (n *counter) show() string {
	l := n.ledger
	var values []string
	switch {
	case l.wild == 0:
		for i := range l.pattern {
			values = append(values, l.pattern[i].value)
		}
	case n == &l.common:
		return otherValue
	default:
		values = slices.Clone(n.values)
	}
	for i, v := range values {
		if v == "" {
			values[i] = noneValue
		}
	}
	return strings.Join(values, ";")
}
