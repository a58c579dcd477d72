package scorecard

import (
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
	Shadowed uint64 // those that ran, in no counter, since the rule was in shadow, and would have been refused

	// Top are the counters with the most refusals, those in shadow included, 10 at
	// most, the most first. A value that was idle and forgotten is among them
	// if it had more than others; what it had before may be missing from its numbers.
	Top []TenantCount
}

// topOfRule is how many a rule's count names: enough to see whether it is one
// tenant whom the rule would meet or all of them.
const topOfRule = 10

// Counts returns the count of each rule, in the order of the rules, all as of
// one moment but for their Top, for which it looks at every counter, see
// [Card.Snapshot].
func (c *Card) Counts() []Count {
	counts, _ := c.Snapshot(0)
	return counts
}

// counts reads the counts of the rules, what is needed to find the Top of those
// that refused anybody, and the counters that are not in the table.
func (c *Card) counts() ([]Count, map[*ledger]*ruleTop, []reading) {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts, common := make([]Count, len(c.mu.rules)), make([]reading, len(c.mu.rules))
	tops := make(map[*ledger]*ruleTop)
	for i, r := range c.mu.rules {
		counts[i] = Count{
			Rule: r.name, Wild: r.wild != 0, Held: r.held, Distinct: r.distinct,
			Admitted: r.admitted, Refused: r.refused, Shadowed: r.shadowed,
		}
		if r.wild != 0 {
			counts[i].OtherHeld = r.common.held
		}
		if r.refused+r.shadowed > 0 {
			tops[r.ledger] = newRuleTop(i, r.gone)
		}
		common[i] = r.common.read()
	}
	return counts, tops, common
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
	Refused uint64 // requests refused or, while the rule was in shadow, that would have been
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
