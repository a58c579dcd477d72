package scorecard

import (
	"cmp"
	"slices"
	"strings"
)

// Top returns the k counters with the most refusals since each began, those in
// shadow included, those with as many by most held, then by rule and value; none
// for k below 1, and none that counts nothing. It looks at every counter, but lets
// requests go on in between: it is for people and scrapes, not for every request,
// and while rules or the bound of tenants change it may miss some.
func (c *Card) Top(k int) []TenantCount {
	t := ranking{most: k}
	c.look(func(n *counter) { t.add(read(n)) })
	return t.named()
}

// look calls see with every counter, under the lock.
func (c *Card) look(see func(*counter)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.mu.rules {
		see(&r.common)
	}
	for i := 0; i < len(c.mu.buckets); i++ {
		if i%stretch == stretch-1 {
			c.mu.Unlock()
			c.mu.Lock()
		}
		if i < len(c.mu.buckets) {
			for n := c.mu.buckets[i]; n != nil; n = n.next {
				see(n)
			}
		}
	}
}

// stretch is how many buckets are looked at while requests wait, some tens of
// microseconds.
const stretch = 512

// A reading is a counter and what it counted at one moment.
type reading struct {
	*counter
	held    int
	refused uint64
}

func read(n *counter) reading { return reading{n, n.held, n.refused} }

// order has those first that Top lists first.
func (r reading) order(than reading) int {
	if r.refused != than.refused || r.held != than.held {
		return cmp.Or(cmp.Compare(than.refused, r.refused), cmp.Compare(than.held, r.held))
	}
	if r.ledger != than.ledger && r.ledger.name != than.ledger.name {
		return strings.Compare(r.ledger.name, than.ledger.name)
	}
	return slices.CompareFunc(r.values, than.values, strings.Compare)
}

// A ranking keeps the readings that come first, in order.
type ranking struct {
	most int
	top  []reading
}

func (t *ranking) add(r reading) {
	if r.held == 0 && r.refused == 0 || t.most < 1 || len(t.top) == t.most && r.order(t.top[t.most-1]) >= 0 {
		return
	}
	at, twice := slices.BinarySearchFunc(t.top, r, reading.order)
	if !twice {
		t.top = slices.Insert(t.top[:min(len(t.top), t.most-1)], at, r)
	}
}

func (t *ranking) named() []TenantCount {
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
		t.gone = append(t.gone, read(n))
	}
	return t
}

func (t *ruleTop) add(n *counter) {
	if n.refused == 0 && len(t.gone) == 0 {
		return
	}
	r := read(n)
	if i := slices.IndexFunc(t.gone, func(g reading) bool { return n != &n.ledger.common && slices.Equal(g.values, n.values) }); i >= 0 {
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
