package codel

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return t0.Add(d) }

// step is a line of a timeline: at a time, in ms, an operation, and what it
// must give. Pushes are "name tier allowance"; what comes out goes by name.
type step struct {
	at   int
	op   string
	want string
}

// play runs steps on q; each result is "-" for nothing.
func play(t *testing.T, q *Queue[string], steps []step) {
	t.Helper()
	items := map[string]*Item[string]{}
	name := func(it *Item[string]) string {
		if it == nil {
			return "-"
		}
		return it.Value
	}
	for i, s := range steps {
		now := at(time.Duration(s.at) * ms)
		op, arg, _ := strings.Cut(s.op, " ")
		var got string
		switch op {
		case "push":
			it := &Item[string]{}
			var allowance int
			if n, err := fmt.Sscan(arg, &it.Value, &it.Tier, &allowance); n != 3 {
				t.Fatalf("step %d: %q: %v", i, s.op, err)
			}
			it.Allowance = time.Duration(allowance) * ms
			items[it.Value] = it
			evicted, ok := q.Push(now, it)
			if got = name(evicted); !ok {
				got = "refused"
			}
		case "pop":
			peeked := q.Peek(now)
			it := q.Pop(now)
			if it != peeked {
				t.Errorf("step %d: Peek said %s, Pop %s", i, name(peeked), name(it))
			}
			got = name(it)
		case "expire":
			var all []string
			for it := q.Expire(now); it != nil; it = q.Expire(now) {
				all = append(all, it.Value)
			}
			slices.Sort(all)
			if got = strings.Join(all, " "); got == "" {
				got = "-"
			}
		case "remove":
			got = fmt.Sprint(q.Remove(items[arg]))
		case "mode":
			got = q.Mode().String()
		case "capacity":
			var n int
			fmt.Sscan(arg, &n)
			q.SetCapacity(n)
			got = fmt.Sprint(q.Len(), " of ", q.Capacity())
		default:
			t.Fatalf("step %d: no such operation: %q", i, s.op)
		}
		if got != s.want {
			t.Errorf("step %d, %d ms, %s: got %s, want %s", i, s.at, s.op, got, s.want)
		}
	}
}

func TestTimelines(t *testing.T) {
	for _, c := range []struct {
		name  string
		cfg   Config
		steps []step
	}{
		{"best tier first, oldest first in it", Config{}, []step{
			{0, "push a 3 100", "-"},
			{1, "push b 1 100", "-"},
			{2, "push c 3 100", "-"},
			{3, "push d 0 100", "-"},
			{4, "pop", "d"},
			{4, "pop", "b"},
			{4, "pop", "a"},
			{4, "pop", "c"},
			{4, "pop", "-"},
		}},
		{"LIFO once non-empty for longer than the last allowance", Config{}, []step{
			{0, "push a 2 100", "-"},
			{1, "push b 2 50", "-"},
			{2, "push c 2 50", "-"},
			{50, "pop", "a"}, // not longer yet
			{50, "mode", "FIFO"},
			{50, "push d 2 50", "-"},
			{51, "pop", "d"},
			{51, "mode", "LIFO"},
			// A longer allowance now does not make it calm again: only
			// emptying does.
			{52, "push e 2 1000", "-"},
			{52, "pop", "e"},
			{52, "pop", "c"},
			{52, "pop", "b"},
			{52, "mode", "FIFO"},
			{53, "push f 2 50", "-"},
			{54, "push g 2 50", "-"},
			{103, "pop", "f"}, // 50 ms since f came, not since a
		}},
		{"a better tier stays calm while a worse one stands", Config{}, []step{
			{0, "push a 5 50", "-"},
			{1, "push b 5 50", "-"},
			{40, "push c 1 50", "-"},
			{41, "push d 1 50", "-"},
			{60, "pop", "c"},
			{60, "mode", "LIFO"}, // of the tier of a and b
			{60, "pop", "d"},
			{60, "pop", "b"},
			{60, "pop", "a"},
		}},
		{"the switch is seen even when nobody looked", Config{}, []step{
			{0, "push a 2 10", "-"},
			{50, "push b 2 100", "-"}, // standing since 10 ms
			{50, "mode", "LIFO"},
			{50, "pop", "b"},
		}},
		{"a short allowance makes the queue standing at once", Config{}, []step{
			{0, "push a 2 100", "-"},
			{50, "push b 2 100", "-"},
			{50, "mode", "FIFO"},
			{50, "push c 2 20", "-"},
			{50, "mode", "LIFO"},
		}},
		{"law codel goes by its interval", Config{Law: LawCoDel, Interval: 30 * ms}, []step{
			{0, "push a 2 5", "-"},
			{10, "push b 2 500", "-"},
			{30, "mode", "FIFO"},
			{30, "expire", "a"},
			{31, "expire", "-"},
			{31, "mode", "LIFO"},
		}},
		{"leaving and expiring empty it too", Config{}, []step{
			{0, "push a 2 10", "-"},
			{20, "push b 2 10", "-"},
			{20, "mode", "LIFO"},
			{20, "expire", "a"},
			{20, "mode", "LIFO"},
			{21, "remove b", "true"},
			{21, "mode", "FIFO"},
			{22, "push c 2 10", "-"},
			{40, "expire", "c"},
			{40, "mode", "FIFO"},
		}},
		{"the worst gives way, the oldest of its tier", Config{Capacity: 3}, []step{
			{0, "push a 4 100", "-"},
			{1, "push b 5 100", "-"},
			{2, "push c 5 100", "-"},
			{3, "push d 1 100", "b"},
			{4, "push e 5 100", "c"}, // its equal gives way too
			{5, "push f 4 100", "e"},
			{6, "push g 4 100", "a"}, // no 5 is left: the oldest 4
			{7, "push h 5 100", "refused"},
			{8, "push i 0 100", "f"},
			{9, "push j 0 100", "g"},
			{9, "push k 0 100", "d"},
			{9, "push l 1 100", "refused"},
		}},
		{"a full queue of one does not seem to have been empty", Config{Capacity: 1}, []step{
			{0, "push a 2 10", "-"},
			{9, "push b 2 10", "a"},
			{11, "push c 2 10", "b"},
			{11, "mode", "LIFO"},
		}},
		{"a smaller capacity sheds nobody", Config{Capacity: 3}, []step{
			{0, "push a 2 100", "-"},
			{0, "push b 2 100", "-"},
			{0, "push c 2 100", "-"},
			{0, "capacity 1", "3 of 1"},
			{1, "push d 2 100", "a"},
			{1, "push e 3 100", "refused"},
			{1, "pop", "b"},
			{1, "push f 2 100", "c"},
			{1, "capacity 3", "2 of 3"},
			{1, "push g 5 100", "-"},
			{1, "capacity -1", "3 of 0"},
			{1, "push h 0 100", "g"},
			{1, "pop", "h"},
			{1, "pop", "d"},
			{1, "pop", "f"},
			{1, "push i 0 100", "refused"}, // nobody may wait
		}},
		{"tiers out of range are clamped", Config{Capacity: 2}, []step{
			{0, "push a 99 100", "-"},
			{0, "push b -1 100", "-"},
			{0, "push c 5 100", "a"},
			{0, "pop", "b"},
		}},
		{"an allowance holds to the millisecond", Config{}, []step{
			{0, "push a 2 10", "-"},
			{0, "push b 2 0", "-"},
			{0, "push c 2 -5", "-"},
			{0, "expire", "b c"},
			{9, "expire", "-"},
			{10, "expire", "a"},
		}},
		{"time that goes back stands still", Config{}, []step{
			{100, "push a 2 10", "-"},
			{20, "push b 2 10", "-"}, // at 100
			{109, "expire", "-"},
			{50, "expire", "-"},
			{110, "expire", "a b"},
			{30, "push c 2 10", "-"}, // nobody waits: the clock starts anew
			{40, "expire", "c"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) { play(t, New[string](c.cfg), c.steps) })
	}
}

func TestPushRefusesWhatCannotBeQueued(t *testing.T) {
	q, other := New[int](Config{}), New[int](Config{})
	it := &Item[int]{Allowance: time.Second}
	if _, ok := q.Push(at(0), it); !ok {
		t.Fatal("a new item was refused")
	}
	for _, into := range []*Queue[int]{q, other} {
		if _, ok := into.Push(at(2*time.Second), it); ok {
			t.Error("an item that is queued already was taken")
		}
	}
	if q.Mode() != FIFO || q.Len() != 1 || other.Len() != 0 {
		t.Errorf("a refused push changed something: %v, %d and %d queued", q.Mode(), q.Len(), other.Len())
	}
	if _, ok := q.Push(at(0), nil); ok {
		t.Error("nil was taken")
	}
	if q.Remove(nil) || other.Remove(it) {
		t.Error("removed what is not in the queue")
	}
	if !q.Remove(it) || q.Remove(it) {
		t.Error("Remove must succeed once")
	}
	if _, ok := other.Push(at(0), it); !ok {
		t.Error("an item that left was refused elsewhere")
	}
}

func TestReadings(t *testing.T) {
	q := New[int](Config{})
	first, second := &Item[int]{Tier: 2, Allowance: time.Hour}, &Item[int]{Tier: 2, Allowance: time.Hour}
	q.Push(at(0), first)
	q.Push(at(5*ms), second)
	first.Tier = 4 // the caller's mistake must not lose it
	if got := q.HeadAge(at(7*ms), 2); got != 7*ms {
		t.Errorf("head age %v, want 7ms", got)
	}
	if got := q.HeadAge(at(ms), 2); got != 5*ms {
		t.Errorf("head age %v with time going back, want 5ms", got)
	}
	for _, tier := range []int{-1, 0, 4, NumTiers, math.MaxInt} {
		if q.HeadAge(at(7*ms), tier) != 0 || q.LenTier(tier) != 0 {
			t.Errorf("tier %d is not empty", tier)
		}
	}
	if it := q.Pop(at(7 * ms)); it != first || it.Sojourn(at(7*ms)) != 7*ms {
		t.Errorf("popped %p after %v, want %p after 7ms", it, it.Sojourn(at(7*ms)), first)
	}
	// A step back of the clock between push and pop: the wait counts as 0.
	if it := q.Pop(at(5*ms - time.Microsecond)); it.Sojourn(at(5*ms-time.Microsecond)) != 0 {
		t.Errorf("sojourn %v, want 0", it.Sojourn(at(5*ms-time.Microsecond)))
	}
	if q.Peek(at(0)) != nil || q.Pop(at(0)) != nil || q.Expire(at(0)) != nil {
		t.Error("an empty queue gave something")
	}
	if next, ok := q.NextExpiry(); ok {
		t.Errorf("an empty queue expires at %v", next)
	}
}

func TestSetConfigKeepsWaiters(t *testing.T) {
	q := New[int](Config{})
	it := &Item[int]{Allowance: 40 * ms}
	q.Push(at(0), it)
	q.SetConfig(Config{Capacity: 7, Law: LawCoDel, Interval: 20 * ms})
	if q.Len() != 1 || q.Capacity() != 7 {
		t.Errorf("%d of %d queued, want 1 of 7", q.Len(), q.Capacity())
	}
	if q.Expire(at(21*ms)) != nil || q.Mode() != LIFO {
		t.Errorf("mode %v after 21 ms, want LIFO by the new interval", q.Mode())
	}
	q.SetConfig(Config{}) // LIFO stays until the queue empties
	if q.Expire(at(22*ms)) != nil || q.Mode() != LIFO {
		t.Errorf("mode %v after the law changed, want LIFO", q.Mode())
	}
	if q.Expire(at(40*ms)) != it {
		t.Error("the waiter did not expire by the allowance it came with")
	}
}
