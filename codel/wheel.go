package codel

import (
	"math"
	"math/bits"
	"time"
)

const (
	// grain is the length of a tick. Finer would wake the owner more often for
	// less than a timer's own accuracy.
	grain = time.Millisecond

	slotBits = 6 // 64 slots a level, so that a level's bitmap is one word
	numSlots = 1 << slotBits
	// Eight levels of six bits hold any tick of an int64 of nanoseconds, so
	// there is no overflow list.
	numLevels = 8

	// lastTick is the last that can be reached and be told as a Duration.
	lastTick = int64(math.MaxInt64 / grain)
)

// wheel holds items by the tick at which they expire: a hierarchical timing
// wheel (Varghese & Lauck, "Hashed and Hierarchical Timing Wheels", SOSP 1987).
// Read a tick as digits in base 64. An item is at the level of the highest
// digit in which its expiry differs from now, in the slot of its own digit
// there. All items of a level thus expire before all those of the next one up,
// and slots of a level are in order from the lowest: the first occupied slot is
// found in two bit scans.
//
// now moves only past slots that are empty. Under that rule an item's place
// follows from its expiry and now alone, and need not be remembered.
type wheel[T any] struct {
	now      int64             // in ticks; no item expires before it
	levels   uint8             // bit l: level l is occupied
	occupied [numLevels]uint64 // bit s: slot s is
	slots    [numLevels][numSlots]list[T]
}

// tickAfter returns the first tick at or after d, lastTick at most.
func tickAfter(d time.Duration) int64 {
	tick := int64(d / grain)
	if d%grain > 0 {
		tick++
	}
	return min(tick, lastTick)
}

func (w *wheel[T]) place(expiry int64) (level, slot int) {
	level = (bits.Len64(uint64(expiry^w.now)|1) - 1) / slotBits
	slot = int(expiry>>(level*slotBits)) % numSlots
	return level, slot
}

// add puts in it by its expiry. REQUIRES: w.now <= it.expiry.
func (w *wheel[T]) add(it *Item[T]) {
	level, slot := w.place(it.expiry)
	w.slots[level][slot].pushBack(byExpiry, it)
	w.occupied[level] |= 1 << slot
	w.levels |= 1 << level
}

// remove takes out it. REQUIRES: it is in w.
func (w *wheel[T]) remove(it *Item[T]) {
	level, slot := w.place(it.expiry)
	w.slots[level][slot].remove(byExpiry, it)
	if w.slots[level][slot].head == nil {
		w.vacate(level, slot)
	}
}

func (w *wheel[T]) vacate(level, slot int) {
	w.occupied[level] &^= 1 << slot
	if w.occupied[level] == 0 {
		w.levels &^= 1 << level
	}
}

// first returns the first occupied slot and the tick at which it starts: at
// level 0 the expiry of all its items, above it a lower bound of them.
// REQUIRES: w is not empty.
func (w *wheel[T]) first() (level, slot int, start int64) {
	level = bits.TrailingZeros8(w.levels)
	slot = bits.TrailingZeros64(w.occupied[level])
	shift := level * slotBits
	above := w.now >> (shift + slotBits) << (shift + slotBits)
	return level, slot, above | int64(slot)<<shift
}

// next returns a tick before which nothing expires.
func (w *wheel[T]) next() (tick int64, ok bool) {
	if w.levels == 0 {
		return 0, false
	}
	_, _, tick = w.first()
	return tick, true
}

// advance moves now to tick, unless a slot up to there is still to be dealt
// with by due. Items added next are then as low in the wheel as can be, and the
// less often moved. REQUIRES: w.now <= tick, or w is empty.
func (w *wheel[T]) advance(tick int64) {
	if next, ok := w.next(); !ok || next > tick {
		w.now = tick
	}
}

// due returns an item that expires at tick or before, left in place, or nil.
// It goes from occupied slot to occupied slot, so its work does not grow with
// the time that has passed, and an item moves down at most numLevels times in
// its life. REQUIRES: w.now <= tick.
func (w *wheel[T]) due(tick int64) *Item[T] {
	for w.levels != 0 {
		level, slot, start := w.first()
		if start > tick {
			break
		}
		w.now = start
		if level == 0 {
			return w.slots[0][slot].head
		}
		w.cascade(level, slot)
	}
	return nil
}

// cascade moves the items of a slot whose start is now to the levels below.
func (w *wheel[T]) cascade(level, slot int) {
	it := w.slots[level][slot].head
	w.slots[level][slot] = list[T]{}
	w.vacate(level, slot)
	for it != nil {
		next := it.links[byExpiry].next
		w.add(it)
		it = next
	}
}
