package scorecard

import (
	"reflect"
	"testing"
	"time"
)

// Standings tells what Acquire would go by, in its order, and begins no counter,
// nor keeps one from being forgotten.
func TestStandings(t *testing.T) {
	rules := []string{"each: tenant:* = 2 / 1", "trial: op:write = 0 [shadow]", "share: tenant:*;op:* = 50%"}
	var all []Rule
	for _, s := range rules {
		r, err := ParseRule(s)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	c, err := New(all...)
	if err != nil {
		t.Fatal(err)
	}
	tags := []Tag{{"tenant", "acme"}, {"op", "write"}}
	h, err := c.Acquire(tags)
	if err != nil {
		t.Fatal(err)
	}
	c.SetPressed(true)
	c.SetLimit("", 3)
	want := []Standing{
		{Rule: "each", Value: "acme", Held: 1, Cap: Cap{N: 1}, Bound: 1, Pressed: true, Full: true},
		{Rule: "trial", Value: "write", Shadow: true, Full: true},
		{Rule: "share", Value: "acme;write", Held: 1, Cap: Cap{Share: 0.5}, Bound: 2},
	}
	if got := c.Standings(tags); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
	h.Release()
	c.SetLimit("", 0)
	if got := c.Standings([]Tag{{"tenant", "new"}, {"op", ""}}); got[0].Value != "new" || got[1].Bound != -1 || got[1].Value != "new;(none)" {
		t.Errorf("got %+v", got)
	}
	if c.mu.len != 2 {
		t.Errorf("%d counters, want acme's two", c.mu.len)
	}
	for i := range 3 {
		c.Sweep(time.Unix(int64(i), 0))
		c.Standings(tags)
	}
	if c.mu.len != 0 {
		t.Errorf("%d counters that nobody used, want none", c.mu.len)
	}
}
