package scorecard

import (
	"cmp"
	"slices"
	"strings"
)

// A Count is what one rule has counted.
type Count struct {
	Rule string // its name
	Wild bool   // it has a *, and so a counter for each distinct value

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
			Rule: r.name, Wild: r.wild != 0, Held: r.held, Distinct: r.distinct,
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
// with as many by most held, then by rule and value; none for k below 1, and none
// that counts nothing. It looks at every counter, but lets requests go on in
// between: it is for people and scrapes, not for every request, and while rules or
// the bound of tenants change it may miss some.
func (c *Card) Top(k int) []TenantCount {
	first := c.first(k)
	top := make([]TenantCount, len(first))
	for i, n := range first {
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

// order has those first that Top lists first.
func (r reading) order(than reading) int {
	if r.refused != than.refused || r.held != than.held {
		return cmp.Or(cmp.Compare(than.refused, r.refused), cmp.Compare(than.held, r.held))
	}
	return cmp.Or(cmp.Compare(r.ledger.name, than.ledger.name), slices.Compare(r.values, than.values))
}

// first reads all counters and returns the k that come first, in order.
func (c *Card) first(k int) (top []reading) {
	look := func(n *counter) {
		r := reading{n, n.held, n.refused}
		if r.held == 0 && r.refused == 0 || k < 1 || len(top) == k && r.order(top[k-1]) >= 0 {
			return
		}
		at, twice := slices.BinarySearchFunc(top, r, reading.order)
		if !twice {
			top = slices.Insert(top[:min(len(top), k-1)], at, r)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.mu.rules {
		look(&r.common)
	}
	for i := 0; i < len(c.mu.buckets); i++ {
		if i%stretch == stretch-1 {
			c.mu.Unlock()
			c.mu.Lock()
		}
		if i < len(c.mu.buckets) {
			for n := c.mu.buckets[i]; n != nil; n = n.next {
				look(n)
			}
		}
	}
	return top
}

// stretch is how many buckets are looked at while requests wait, some tens of
// microseconds.
const stretch = 512

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
