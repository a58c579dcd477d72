package scorecard

import (
	"hash/maphash"
	"math/bits"
	"strings"
)

const (
	// defaultMax is room for the tenants of a large service, at about 150
	// bytes each.
	defaultMax = 10_000

	maxBuckets = 1 << 20
)

// A table holds the counters of the values that rules with * tell apart, those
// of all rules together. It is a hash table of its own rather than a map for
// three reasons: several values make a key without being put together first,
// one value is hashed once for several rules, and a Sweep can stop and go on.
// The hash is seeded, for the values come from callers, who could choose such
// that collide; no decision depends on the seed.
type table struct {
	seed    maphash.Seed
	buckets []*counter // a power of two of them; none until resize

	// marks has for each bucket a bit for each of its counters, the one that mark
	// chooses. Of a crowd of names that are not in the table most are told so by this
	// alone, an eighth of the buckets' size, and wait for no counter's memory.
	marks []uint8

	len int
	max int // of len
}

// resize sets the bound and makes buckets for it. They are there before they
// are needed, so that no request waits for the table to grow.
func (t *table) resize(bound int) {
	if bound == t.max {
		return
	}
	if t.buckets == nil {
		t.seed = maphash.MakeSeed()
	}
	t.max = bound
	old := t.buckets
	t.buckets = make([]*counter, 1<<bits.Len(uint(min(bound, maxBuckets)-1)))
	t.marks = make([]uint8, len(t.buckets))
	for _, n := range old {
		for n != nil {
			next := n.next
			t.link(n)
			n = next
		}
	}
}

func (t *table) link(n *counter) {
	i := t.bucket(n.hash)
	n.next = t.buckets[i]
	t.buckets[i] = n
	t.marks[i] |= mark(n.hash)
}

func (t *table) bucket(hash uint64) uint64 { return hash & uint64(len(t.buckets)-1) }

// mark is a bit that the bucket says nothing about.
func mark(hash uint64) uint8 { return 1 << (hash >> 61) }

// counter returns the counter for a request that r matches, a new one if
// there is none yet and there is room.
func (t *table) counter(r *rule, q *request) *counter {
	if r.wild == 0 || r.wild&q.long != 0 {
		return &r.common
	}
	hash := t.hash(r, q)
	if n := t.find(r, q, hash); n != nil {
		n.used = true
		return n
	}
	if t.len >= t.max {
		return &r.common
	}
	return t.add(r, q, hash)
}

// hash is that of the values of a request which r tells apart.
func (t *table) hash(r *rule, q *request) uint64 {
	hash := r.salt
	for _, slot := range r.wildSlots {
		hash = (hash + t.valueHash(q, slot)) * 0x9e3779b97f4a7c15
	}
	return hash ^ hash>>32
}

// find returns the counter there is, or nil.
func (t *table) find(r *rule, q *request, hash uint64) *counter {
	i := t.bucket(hash)
	if t.marks[i]&mark(hash) == 0 {
		return nil
	}
	for n := t.buckets[i]; n != nil; n = n.next {
		if n.hash == hash && n.is(r, q) {
			return n
		}
	}
	return nil
}

func (t *table) valueHash(q *request, slot uint8) uint64 {
	if !q.hashed || q.hashSlot != slot {
		q.hash, q.hashed, q.hashSlot = maphash.String(t.seed, q.value(slot)), true, slot
	}
	return q.hash
}

func (t *table) add(r *rule, q *request, hash uint64) *counter {
	n := &counter{ledger: r.ledger, used: true, hash: hash, values: make([]string, len(r.wildSlots))}
	for i, slot := range r.wildSlots {
		// The request's string may be a part of something much larger.
		n.values[i] = strings.Clone(q.value(slot))
	}
	t.link(n)
	t.len++
	n.ledger.distinct++
	return n
}

// is reports whether n is the counter for a request that r matches.
func (n *counter) is(r *rule, q *request) bool {
	if n.ledger != r.ledger {
		return false
	}
	for i, slot := range r.wildSlots {
		if n.values[i] != q.value(slot) {
			return false
		}
	}
	return true
}

// keep drops those counters in buckets from to to-1 that ok does not hold for,
// and returns how many they were.
func (t *table) keep(from, to int, ok func(*counter) bool) (dropped int) {
	for i := from; i < min(to, len(t.buckets)); i++ {
		t.marks[i] = 0
		for p := &t.buckets[i]; *p != nil; {
			if n := *p; ok(n) {
				t.marks[i] |= mark(n.hash)
				p = &n.next
			} else {
				*p = n.next
				t.len--
				n.ledger.distinct--
				dropped++
				n.ledger.remember(n)
			}
		}
	}
	return dropped
}
