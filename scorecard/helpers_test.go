package scorecard

import (
	"strings"
	"testing"
	"time"
)

// parsed turns rules in text form into rules.
func parsed(t testing.TB, rules ...string) []Rule {
	t.Helper()
	var out []Rule
	for _, s := range rules {
		r, err := ParseRule(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// card makes a Card of rules in text form.
func card(t testing.TB, rules ...string) *Card {
	t.Helper()
	c, err := New(parsed(t, rules...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// tagsOf reads "tenant:acme op:write".
func tagsOf(s string) []Tag {
	var tags []Tag
	for _, f := range strings.Fields(s) {
		key, value, _ := strings.Cut(f, ":")
		tags = append(tags, Tag{key, value})
	}
	return tags
}

// hold acquires n times and fails the test if one is refused.
func hold(t testing.TB, c *Card, tags string, n int) []Hold {
	t.Helper()
	var holds []Hold
	for range n {
		h, err := c.Acquire(tagsOf(tags))
		if err != nil {
			t.Fatalf("hold %s: %v", tags, err)
		}
		holds = append(holds, h)
	}
	return holds
}

func release(holds []Hold) {
	for i := range holds {
		holds[i].Release()
	}
}

// checkCard checks what always holds between the parts of a Card.
func checkCard(t testing.TB, c *Card) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	held, distinct, total := map[*ledger]int{}, map[*ledger]int{}, 0
	for i, n := range c.mu.buckets {
		marks := uint8(0)
		for ; n != nil; n = n.next {
			marks |= mark(n.hash)
			if n.hash%uint64(len(c.mu.buckets)) != uint64(i) || n.held < 0 {
				t.Errorf("counter %q: held %d, hash %d, in bucket %d", n.values, n.held, n.hash, i)
			}
			held[n.ledger] += n.held
			distinct[n.ledger]++
			total++
		}
		if c.mu.marks[i] != marks {
			t.Errorf("bucket %d has marks %b, want %b", i, c.mu.marks[i], marks)
		}
	}
	if total != c.mu.table.len {
		t.Errorf("%d counters in the table, its length is %d", total, c.mu.table.len)
	}
	for _, r := range c.mu.rules {
		if got := held[r.ledger] + r.common.held; got != r.held || r.common.held < 0 {
			t.Errorf("rule %s: held %d, its counters add up to %d", r.name, r.held, got)
		}
		if distinct[r.ledger] != r.distinct {
			t.Errorf("rule %s: %d distinct, %d in the table", r.name, r.distinct, distinct[r.ledger])
		}
		delete(distinct, r.ledger)
	}
	if len(distinct) != 0 {
		t.Errorf("counters of %d removed rules are in the table", len(distinct))
	}
}

// checkQuiet checks a Card whose holds are all released.
func checkQuiet(t testing.TB, c *Card) {
	t.Helper()
	checkCard(t, c)
	for _, n := range c.Counts() {
		if n.Held != 0 || n.OtherHeld != 0 {
			t.Errorf("rule %s: %d held, %d of them in other, after all were released", n.Rule, n.Held, n.OtherHeld)
		}
	}
}

// t0 is when the tests with time begin.
var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
