package scorecard

import (
	"hash/fnv"
	"slices"
)

// A ledger is what one rule has counted. It lives on when the rules are
// replaced by some that have a rule of the same identity.
type ledger struct {
	identity string // name and pattern
	name     string
	pattern  []term // in the order written
	wild     int    // how many terms have *
	salt     uint64 // of its counters' hashes

	// common is the counter of all requests if no term has *. Otherwise it is
	// the other bucket, and the counters of the values are in the table.
	common   counter
	distinct int // how many those are

	held                        int // sum over the counters
	admitted, refused, shadowed uint64

	gone []*counter // forgotten ones that had refusals, the most of them
	left bool       // no rule of the Card has it any more
}

func newLedger(name string, pattern []term) *ledger {
	l := &ledger{
		identity: name + ":" + showMatch(pattern), // a name has no colon
		name:     name,
		pattern:  pattern,
	}
	for i := range pattern {
		if pattern[i].wild {
			l.wild++
		}
	}
	l.common.ledger = l
	salt := fnv.New64a()
	salt.Write([]byte(l.identity))
	l.salt = salt.Sum64()
	return l
}

// A counter counts the holds of one value, or one combination of values, that
// a rule tells apart.
type counter struct {
	ledger  *ledger
	held    int
	refused uint64 // or would have been, in shadow

	// In the table:
	next *counter
	hash uint64

	values []string // that * stood for, in the order of the pattern
	used   bool     // since the previous Sweep
}

func (n *counter) take() {
	n.held++
	n.ledger.held++
	n.ledger.admitted++
}

func (n *counter) giveBack() {
	n.held--
	n.used = true
	n.ledger.held--
}

func (n *counter) refuse() {
	n.refused++
	n.ledger.refused++
}

func (n *counter) shadow() {
	n.refused++
	n.ledger.shadowed++
}

// same reports whether two counters of one rule are for the same values.
func (n *counter) same(as *counter) bool {
	return n.hash == as.hash && slices.Equal(n.values, as.values)
}

// remember keeps what a counter that is forgotten has refused, so that a tenant
// who comes and goes can be found in the counts, and no more of them than can be
// shown: where there is no room the smallest gives way.
func (l *ledger) remember(n *counter) {
	if n.refused == 0 {
		return
	}
	least := -1
	for i, g := range l.gone {
		if g.same(n) {
			g.refused += n.refused
			return
		}
		if least < 0 || g.refused < l.gone[least].refused {
			least = i
		}
	}
	switch n.next = nil; {
	case len(l.gone) < topOfRule:
		l.gone = append(l.gone, n)
	case l.gone[least].refused < n.refused:
		l.gone[least] = n
	}
}
