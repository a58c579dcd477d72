package scorecard

import (
	"fmt"
	"testing"
)

// While counters move to more buckets or to fewer, at every step each tenant has the
// counter he had, and a new one gets one in its place.
func TestMove(t *testing.T) {
	for _, buckets := range []int{1, 4, 64, 1024} {
		c := card(t, "r: tenant:* = 2", "s: tenant:*;op:* = 9")
		c.SetMaxTenants(64)
		holds := []Hold{}
		come := func() {
			holds = append(holds, hold(t, c, fmt.Sprintf("tenant:%d op:read", len(holds)), 1)...)
		}
		for range 20 {
			come()
		}
		c.mu.beginMove(newRows(buckets))
		for k := range c.mu.kinds {
			c.mu.table.move(k + 1)
			c.mu.forget() // what the memo knows is not looked up
			for i := range holds {
				tags := tagsOf(fmt.Sprintf("tenant:%d op:read", i))
				if s := c.Standings(tags); len(s) != 2 || s[0].Held != 1 || s[1].Held != 1 {
					t.Fatalf("to %d buckets, step %d: tenant %d stands at %+v", buckets, k, i, s)
				}
			}
			if k%8 == 0 {
				come()
			}
		}
		c.mu.endMove()
		checkCard(t, c)
		if n := c.mu.table.len; n != 2*len(holds) || len(c.mu.buckets) != buckets {
			t.Errorf("%d counters in %d buckets, want %d in %d", n, len(c.mu.buckets), 2*len(holds), buckets)
		}
		release(holds)
		checkQuiet(t, c)
	}
}

// Of rules that go the counters go, and their room is there at once.
func TestCountersOfRulesThatGo(t *testing.T) {
	c := card(t, "r: tenant:* = 9", "s: op:* = 9")
	c.SetMaxTenants(1000)
	for i := range 500 {
		release(hold(t, c, fmt.Sprintf("tenant:%d op:%d", i, i), 1))
	}
	kept := hold(t, c, "tenant:1 op:1", 2)
	if err := c.SetRules(parsed(t, "s: op:* = 9", "t: tenant:* = 9")...); err != nil {
		t.Fatal(err)
	}
	checkCard(t, c)
	if n := c.Counts(); n[0].Held != 2 || n[0].Distinct != 500 || n[1].Held != 0 || n[1].Distinct != 0 {
		t.Errorf("got %+v", n)
	}
	for i := range 500 {
		release(hold(t, c, fmt.Sprint("tenant:new-", i), 1))
	}
	if n := c.Counts()[1]; n.Distinct != 500 {
		t.Errorf("room for %d values, want 500", n.Distinct)
	}
	release(kept)
	checkQuiet(t, c)
}
