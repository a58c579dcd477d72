package scorecard

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// What the memo knows of a request is what the rules say of it: here of values
// that it takes for each other at a glance, of shapes beyond those it has room
// for, of values too long for it, and after whatever changes the answer. TestModel
// and FuzzCard compare it with the oracle.
func TestMemo(t *testing.T) {
	c := card(t, "each: tenant:* = 1", "op: op:write = 2")
	long := strings.Repeat("x", memoKey)
	for _, tenant := range []string{"a", "", "tenant-1-000000", "tenant-2-000000", "service-1-of-tenant-a", "service-2-of-tenant-a", long, "b" + long} {
		h := hold(t, c, "tenant:"+tenant, 1)
		for range 3 {
			if _, err := c.Acquire([]Tag{{"tenant", tenant}}); err == nil {
				t.Errorf("tenant %q: two are held, cap 1", tenant)
			}
		}
		release(h)
	}
	for i := range 3 * len(c.mu.shapes) {
		tags := []Tag{{"tenant", "a"}, {fmt.Sprint("key", i), "v"}}
		h, err := c.Acquire(tags)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Acquire(tags); err == nil {
			t.Errorf("shape %d: two are held, cap 1", i)
		}
		h.Release()
	}
	checkQuiet(t, c)
}

// Values that differ in one byte are two, wherever it is and however long they are.
func TestMemoSeesEveryByte(t *testing.T) {
	c := card(t, "each: tenant:* = 1")
	for length := 1; length <= 3*8; length++ {
		one := []byte(strings.Repeat("x", length))
		h := hold(t, c, "tenant:"+string(one), 1)
		for i := range one {
			one[i] = 'y'
			for range 2 { // the second is of the memo
				release(hold(t, c, "tenant:"+string(one), 1))
			}
			one[i] = 'x'
		}
		release(h)
	}
	checkQuiet(t, c)
}

// No value is taken for another whose bytes are those that a glance makes of it, nor are two
// values for two others of which the second is what is left of the first.
func TestMemoTellsWhatLooksAlike(t *testing.T) {
	c := card(t, "each: tenant:*;op:* = 1")
	values := []string{"", "\x00", "\x00\x00", "\x00\x00\x00", "a", "aa", "aaa", "aaaa", "aaaaa", "abc", "abc\x00", "abcd", "abdd"}
	for _, s := range []string{"a", "abc", "abcd"} {
		word := append([]byte(s), make([]byte, wordLen-len(s))...)
		word[wordLen-1] = byte(len(s)) // as a glance has it
		values = append(values, string(word), string(word)+"x", string(word)+"xx")
	}
	for range 2 {
		for _, one := range values {
			for _, other := range values {
				h, err := c.Acquire([]Tag{{"tenant", one}, {"op", other}})
				if err != nil {
					t.Fatalf("tenant %q, op %q: %v", one, other, err)
				}
				defer h.Release()
			}
		}
		c = card(t, "each: tenant:*;op:* = 1", "other: op:nobody = 1")
	}

	// Of so many some have one place in the memo, where only the lengths tell them apart.
	c = card(t, "each: tenant:* = 1")
	for i := range 8 << memoBits {
		short := strconv.FormatInt(int64(1296+i), 36) // three bytes
		long := hold(t, c, "tenant:"+short+"\x00\x00\x00\x00\x03", 1)
		release(append(long, hold(t, c, "tenant:"+short, 1)...))
	}
}

// A counter that a Sweep dropped is not found by the memo again: it would count
// apart from its successor.
func TestMemoForgetsSweptCounters(t *testing.T) {
	c := card(t, "each: tenant:* = 1")
	tags := []Tag{{"tenant", "a"}}
	now := t0
	for range 3 {
		h, err := c.Acquire(tags)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Counts()[0]; got.Held != 1 || got.Distinct != 1 {
			t.Fatalf("%+v, want one held on one counter", got)
		}
		h.Release()
		for range 2 {
			now = now.Add(time.Minute)
			c.Sweep(now)
		}
	}
	checkQuiet(t, c)
}

// A refusal is remembered too, of one who was never let in: who is over his cap may
// send the most requests. What the rules after it say is asked for once it holds no more.
func TestMemoRemembersRefusals(t *testing.T) {
	c := card(t, "each: tenant:* = 1", "op: op:* = 1")
	h := hold(t, c, "tenant:a op:write", 1)
	values := []string{"a", "read"}
	tags := []Tag{{"tenant", values[0]}, {"op", values[1]}}
	for range 2 {
		if _, err := c.Acquire(tags); err == nil {
			t.Fatal("two are held, cap 1")
		}
		number := c.mu.shapeOf(&c.mu.program, tags)
		if v, known := c.mu.memo.find(&c.mu.shapes[number], uint64(number), values); !known || v.whole || v.n != 1 {
			t.Fatalf("remembered is %+v, want the refusal alone", v)
		}
	}
	if n := c.Counts(); n[0].Refused != 2 || n[1].Distinct != 1 {
		t.Errorf("counted %+v", n)
	}
	release(h)
	h = hold(t, c, "tenant:a op:read", 1)
	if got := c.Counts()[1]; got.Held != 1 || got.Distinct != 2 {
		t.Errorf("of the operations %+v is counted", got)
	}
	release(h)
	checkQuiet(t, c)
}

// A cap that is a share follows its lane's limit though the verdict is known.
func TestMemoFollowsTheLimit(t *testing.T) {
	c := card(t, "each: tenant:* = 50%")
	tags := []Tag{{"tenant", "a"}, {"lane", "read"}}
	var holds []Hold
	for range 5 { // the limit is not known
		h, err := c.Acquire(tags)
		if err != nil {
			t.Fatal(err)
		}
		holds = append(holds, h)
	}
	for _, step := range []struct{ limit, free int }{{12, 1}, {10, 0}, {14, 2}, {0, 9}, {8, 0}} {
		c.SetLimit("read", step.limit)
		free := 0
		for range 9 {
			h, err := c.Acquire(tags)
			if err != nil {
				break
			}
			free++
			holds = append(holds, h)
		}
		if free != step.free {
			t.Errorf("limit %d: %d more fit, want %d", step.limit, free, step.free)
		}
		release(holds[5:])
		holds = holds[:5]
	}
	release(holds)
	checkQuiet(t, c)
}
