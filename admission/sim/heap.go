package sim

// heap is a priority queue: the least key first, among equals the one pushed
// first. Four children a node make it shallower than a binary one, which the
// cache likes.
type heap[K int64 | float64, V any] struct {
	items []item[K, V]
	seq   uint64
}

type item[K int64 | float64, V any] struct {
	key   K
	seq   uint64
	value V
}

func (a *item[K, V]) before(b *item[K, V]) bool {
	return a.key < b.key || a.key == b.key && a.seq < b.seq
}

func (h *heap[K, V]) len() int { return len(h.items) }

// top is the least. REQUIRES: there is one.
func (h *heap[K, V]) top() *item[K, V] { return &h.items[0] }

func (h *heap[K, V]) push(key K, value V) {
	x := item[K, V]{key, h.seq, value}
	h.seq++
	h.items = append(h.items, x)
	i := len(h.items) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !x.before(&h.items[up]) {
			break
		}
		h.items[i] = h.items[up]
		i = up
	}
	h.items[i] = x
}

// pop takes out the least. REQUIRES: there is one.
func (h *heap[K, V]) pop() V {
	out := h.items[0].value
	last := len(h.items) - 1
	x := h.items[last]
	h.items[last] = item[K, V]{}
	h.items = h.items[:last]
	if last == 0 {
		return out
	}
	i := 0
	for {
		least := h.least(4*i+1, &x)
		if least < 0 {
			break
		}
		h.items[i] = h.items[least]
		i = least
	}
	h.items[i] = x
	return out
}

// least is the least of the four siblings from first on that goes before x, or
// -1.
func (h *heap[K, V]) least(first int, x *item[K, V]) int {
	least := -1
	for c := first; c < min(first+4, len(h.items)); c++ {
		if h.items[c].before(x) {
			least, x = c, &h.items[c]
		}
	}
	return least
}
