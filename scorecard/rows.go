package scorecard

import "math/bits"

const maxBuckets = 1 << 20

// rows are the buckets of a table. They are there before they are needed, so
// that no request waits for the table to grow.
type rows struct {
	buckets []*counter // a power of two of them

	// marks has for each bucket a bit for each of its counters, the one that mark
	// chooses. Of a crowd of names that are not in the table most are told so by this
	// alone, an eighth of the buckets' size, and wait for no counter's memory.
	marks []uint8
}

// bucketsFor is how many buckets a table of so many counters has.
func bucketsFor(bound int) int { return 1 << bits.Len(uint(min(bound, maxBuckets)-1)) }

func newRows(buckets int) rows {
	return rows{buckets: make([]*counter, buckets), marks: make([]uint8, buckets)}
}

func (r *rows) bucket(hash uint64) uint64 { return hash & uint64(len(r.buckets)-1) }

// mark is a bit that the bucket says nothing about.
func mark(hash uint64) uint8 { return 1 << (hash >> 61) }

func (r *rows) link(n *counter) {
	i := r.bucket(n.hash)
	n.next = r.buckets[i]
	r.buckets[i] = n
	r.marks[i] |= mark(n.hash)
}

// To move to other rows a table need not stand still. Hashes are of one kind if they
// share a bucket in whichever of the two has fewer; each kind moves at once, and
// then is found in its new place while later kinds are in their old one.

func (t *table) beginMove(to rows) {
	t.next = to
	t.kinds, t.moved = uint64(min(len(t.buckets), len(to.buckets))), 0
}

// move moves the kinds that have not moved yet, up to the given one.
func (t *table) move(to uint64) {
	for ; t.moved < to; t.moved++ {
		for i := t.moved; i < uint64(len(t.buckets)); i += t.kinds {
			for n := t.buckets[i]; n != nil; {
				next := n.next
				t.next.link(n)
				n = next
			}
			t.buckets[i] = nil
		}
	}
}

func (t *table) endMove() {
	t.rows, t.next, t.moved = t.next, rows{}, 0
}
