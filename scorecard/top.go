package scorecard

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spillway-go/spillway/internal/spin"
)

// Top returns the k counters with the most refusals since each began, those in
// shadow included, those with as many by most held, then by rule and value; none
// for k below 1, and none that counts nothing. Where many are equal but for their
// values, which of them have a place is arbitrary, and stays so. It looks at every
// counter, see [Card.Snapshot].
func (c *Card) Top(k int) []TenantCount {
	_, top := c.Snapshot(k)
	return top
}

// Snapshot returns what [Card.Counts] and [Card.Top] do for the price of one of
// them: some milliseconds where there are 100,000 values, in which requests go on. It
// is for people and scrapes, not for every request, and while rules or the bound of
// tenants change it may miss some.
func (c *Card) Snapshot(k int) (counts []Count, top []TenantCount) {
	counts, tops, common := c.counts()
	if k < 1 && len(tops) == 0 {
		return counts, nil
	}
	all := ranking{most: k}
	var of *ledger
	var its *ruleTop
	see := func(r reading) {
		if r.held > 0 || r.refused > 0 {
			all.add(r)
		}
		if r.ledger != of {
			of, its = r.ledger, tops[r.ledger]
		}
		if its != nil {
			its.add(r)
		}
	}
	for _, r := range common {
		see(r)
	}
	c.look(see)
	for _, t := range tops {
		counts[t.at].Top = t.named()
	}
	return counts, all.named()
}

// look calls see with every counter of the table. It reads a few under the lock and
// has them seen while it is free, and rests: who finds a lock taken asks again for some
// microseconds before he goes to sleep, and then for a lock that is given up and taken
// back at once he would wait a millisecond.
func (c *Card) look(see func(reading)) {
	var some []reading
	for at, more := 0, true; more; {
		some, at, more = c.some(some[:0], at)
		for _, r := range some {
			see(r)
		}
		spin.Rest()
	}
}

// some reads a few counters, those of the buckets from at on.
func (c *Card) some(into []reading, at int) (read []reading, next int, more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	met := 0
	for end := at + stretch; at < min(end, len(c.mu.buckets)) && met < few; at++ {
		for n := c.mu.buckets[at]; n != nil; n = n.next {
			met++
			if !n.ledger.left {
				into = append(into, n.read())
			}
		}
	}
	return into, at, at < len(c.mu.buckets)
}

// Requests wait while few counters are met or a stretch of buckets: a microsecond or two
// if they are in no cache, for each counter lies somewhere else and the buckets lie in a
// row. Where there are fewer tenants than there may be most buckets are empty, and to rest
// after every 32 of those made a look at no counter at all take three milliseconds.
const (
	few     = 24
	stretch = 1024
)

// A reading is a counter and what it counted at one moment.
type reading struct {
	*counter
	held    int
	refused uint64
}

func (n *counter) read() reading { return reading{n, n.held, n.refused} }

// order has those first that Top names before others. Where all are equal it is
// their hash that decides, for it lies beside the numbers and their values do not.
func (r reading) order(than reading) int {
	if c := r.rank(than); c != 0 || r.hash == than.hash {
		return cmp.Or(c, r.compare(than))
	}
	return cmp.Compare(r.hash, than.hash)
}

// rank is order but for counters of one rule that count the same.
func (r reading) rank(than reading) int {
	switch {
	case r.refused != than.refused:
		return cmp.Compare(than.refused, r.refused)
	case r.held != than.held:
		return cmp.Compare(than.held, r.held)
	case r.ledger != than.ledger:
		return strings.Compare(r.ledger.name, than.ledger.name)
	}
	return 0
}

func (r reading) compare(than reading) int {
	return slices.CompareFunc(r.values, than.values, strings.Compare)
}

// A ranking keeps the readings that come first, in order.
type ranking struct {
	most int
	top  []reading
}

func (t *ranking) add(r reading) {
	if t.most < 1 || len(t.top) == t.most && r.order(t.top[t.most-1]) >= 0 {
		return
	}
	// Who has moved to another bucket meanwhile is seen twice, and may have been refused
	// in between.
	if slices.ContainsFunc(t.top, func(seen reading) bool { return seen.counter == r.counter }) {
		return
	}
	at, _ := slices.BinarySearchFunc(t.top, r, reading.order)
	t.top = slices.Insert(t.top[:min(len(t.top), t.most-1)], at, r)
}

func (t *ranking) named() []TenantCount {
	slices.SortFunc(t.top, func(a, b reading) int { return cmp.Or(a.rank(b), a.compare(b)) })
	named := make([]TenantCount, len(t.top))
	for i, n := range t.top {
		named[i] = TenantCount{Rule: n.ledger.name, Value: n.show(), Held: n.held, Refused: n.refused}
	}
	return named
}

// A ruleTop ranks the counters of one rule that had refusals. To those that are
// there it adds what their values had before they were forgotten.
type ruleTop struct {
	ranking
	at   int // the rule's index
	gone []reading
}

func newRuleTop(at int, gone []*counter) *ruleTop {
	t := &ruleTop{ranking: ranking{most: topOfRule}, at: at}
	for _, n := range gone {
		t.gone = append(t.gone, n.read())
	}
	return t
}

func (t *ruleTop) add(r reading) {
	if i := slices.IndexFunc(t.gone, func(g reading) bool { return r.counter != &r.ledger.common && g.same(r.counter) }); i >= 0 {
		r.refused += t.gone[i].refused
		t.gone = slices.Delete(t.gone, i, i+1)
	}
	if r.refused > 0 {
		t.ranking.add(r)
	}
}

// named is called once all counters were added.
func (t *ruleTop) named() []TenantCount {
	for _, g := range t.gone {
		t.ranking.add(g)
	}
	return t.ranking.named()
}
