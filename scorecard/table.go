package scorecard

import (
	"hash/maphash"
	"strings"
)

// defaultMax is room for the tenants of a large service, at about 150 bytes each.
const defaultMax = 10_000

// A table holds the counters of the values that rules with * tell apart, those
// of all rules together. It is a hash table of its own rather than a map for
// three reasons: several values make a key without being put together first,
// one value is hashed once for several rules, and a Sweep can stop and go on.
// The hash is seeded, for the values come from callers, who could choose such
// that collide; no decision depends on the seed.
type table struct {
	seed maphash.Seed
	rows
	next  rows   // while there are to be more buckets or fewer: where counters move to
	kinds uint64 // and as long, how many kinds of hashes move one after the other: a power of two
	moved uint64 // of them

	len int
	max int // of len
}

// makeRoom sets the bound. The first time it also makes buckets for it; later they
// are moved to, see beginMove.
func (t *table) makeRoom(bound int) {
	t.max = bound
	if t.buckets == nil {
		t.seed = maphash.MakeSeed()
		t.rows = newRows(bucketsFor(bound))
	}
}

// link puts a counter where it belongs.
func (t *table) link(n *counter) { t.home(n.hash).link(n) }

// home is where a counter with the hash is, if it is in the table.
func (t *table) home(hash uint64) *rows {
	if t.moved > 0 && hash&(t.kinds-1) < t.moved {
		return &t.next
	}
	return &t.rows
}

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
	home := t.home(hash)
	i := home.bucket(hash)
	if home.marks[i]&mark(hash) == 0 {
		return nil
	}
	for n := home.buckets[i]; n != nil; n = n.next {
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
// and returns how many they were. No counter is to move meanwhile.
func (t *table) keep(from, to int, ok func(*counter) bool) (dropped int) {
	for i := from; i < to; i++ {
		t.marks[i] = 0
		for p := &t.buckets[i]; *p != nil; {
			if n := *p; ok(n) {
				t.marks[i] |= mark(n.hash)
				p = &n.next
			} else {
				*p = n.next
				dropped++
				if !n.ledger.left {
					t.len--
					n.ledger.distinct--
					n.ledger.remember(n)
				}
			}
		}
	}
	return dropped
}

// leave is for a ledger that no rule has any more: its counters, whose number it
// returns, count no longer and are to be dropped.
func (t *table) leave(l *ledger) int {
	l.left = true
	t.len -= l.distinct
	return l.distinct
}
