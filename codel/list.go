package codel

// chain says which of an item's links a list runs through: an item is in two
// lists at a time.
type chain int

const (
	byTier   chain = iota // the waiters of its tier, oldest first
	byExpiry              // the waiters in its slot of the wheel
	numChains
)

type links[T any] struct{ prev, next *Item[T] }

// list is a doubly linked list through the items themselves, so that it takes
// no memory of its own and an item is removed without being searched for. The
// zero list is empty.
type list[T any] struct{ head, tail *Item[T] }

func (l *list[T]) pushBack(c chain, it *Item[T]) {
	it.links[c] = links[T]{prev: l.tail}
	if l.tail == nil {
		l.head = it
	} else {
		l.tail.links[c].next = it
	}
	l.tail = it
}

// remove takes out it. REQUIRES: it is in l.
func (l *list[T]) remove(c chain, it *Item[T]) {
	at := it.links[c]
	if at.prev == nil {
		l.head = at.next
	} else {
		at.prev.links[c].next = at.next
	}
	if at.next == nil {
		l.tail = at.prev
	} else {
		at.next.links[c].prev = at.prev
	}
	it.links[c] = links[T]{} // what has left must not keep others from the collector
}
