package codel

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// The wheel against a plain slice: whatever is added, removed and let pass, an
// item comes out when its tick has come and not before, next is a lower bound,
// and every item is where its expiry says.
func TestWheelAgainstSlice(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var w wheel[int]
		var oracle []*Item[int]
		for range 300 { // not so many that now stays at the end of time
			switch op := rnd.IntN(10); {
			case op < 5:
				// As many bits as not: all levels are met.
				ahead := rnd.Int64() >> (20 + rnd.IntN(44))
				it := &Item[int]{expiry: min(w.now+ahead, lastTick)}
				w.add(it)
				oracle = append(oracle, it)
			case op < 7 && len(oracle) > 0:
				i := rnd.IntN(len(oracle))
				w.remove(oracle[i])
				oracle = slices.Delete(oracle, i, i+1)
			case op == 7:
				w.advance(min(w.now+rnd.Int64N(1000), lastTick))
			default:
				now := min(w.now+rnd.Int64()>>(20+rnd.IntN(44)), lastTick)
				for it := w.due(now); it != nil; it = w.due(now) {
					if it.expiry > now {
						t.Fatalf("seed %d: %d came out at %d", seed, it.expiry, now)
					}
					w.remove(it)
					oracle = slices.DeleteFunc(oracle, func(o *Item[int]) bool { return o == it })
				}
				for _, it := range oracle {
					if it.expiry <= now {
						t.Fatalf("seed %d: %d did not come out at %d", seed, it.expiry, now)
					}
				}
				if next, ok := w.next(); ok && next <= now {
					t.Fatalf("seed %d: drained at %d, but next is %d", seed, now, next)
				}
			}
			checkWheel(t, &w, oracle)
		}
	}
}

// checkWheel fails unless w holds exactly want, each item in its place, with
// bitmaps that say so.
func checkWheel[T any](t *testing.T, w *wheel[T], want []*Item[T]) {
	t.Helper()
	next, ok := w.next()
	if ok != (len(want) > 0) {
		t.Fatalf("next is (%d, %v) with %d items", next, ok, len(want))
	}
	for _, it := range want {
		if it.expiry < next || it.expiry < w.now {
			t.Fatalf("an item expires at %d, next is %d, now %d", it.expiry, next, w.now)
		}
	}
	found := 0
	for level := range w.slots {
		if got := w.levels>>level&1 != 0; got != (w.occupied[level] != 0) {
			t.Fatalf("level %d marked %v, slots %b", level, got, w.occupied[level])
		}
		// Walk the marked slots only; an item in an unmarked one is missed by
		// the count.
		for marks := w.occupied[level]; marks != 0; marks &= marks - 1 {
			slot := bits.TrailingZeros64(marks)
			if w.slots[level][slot].head == nil {
				t.Fatalf("slot %d of level %d marked but empty", slot, level)
			}
			for it := w.slots[level][slot].head; it != nil; it = it.links[byExpiry].next {
				if l, s := w.place(it.expiry); l != level || s != slot {
					t.Fatalf("tick %d at now %d: in (%d, %d), place says (%d, %d)", it.expiry, w.now, level, slot, l, s)
				}
				found++
			}
		}
	}
	if found != len(want) {
		t.Fatalf("%d items in the wheel, want %d", found, len(want))
	}
}

func TestTickAfter(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want int64
	}{
		{0, 0},
		{1, 1},
		{grain, 1},
		{grain + 1, 2},
		{1<<63 - 1, lastTick},
	} {
		if got := tickAfter(c.d); got != c.want {
			t.Errorf("tickAfter(%v) = %d, want %d", c.d, got, c.want)
		}
	}
}
