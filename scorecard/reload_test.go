package scorecard

import "testing"

// TestSetRules is one tenant's five requests through a series of reloads: how
// many are held, and what happens to one more.
func TestSetRules(t *testing.T) {
	c := card(t, "a: tenant:* = 5")
	holds := hold(t, c, "tenant:acme op:write", 5)
	for _, step := range []struct {
		rules []string
		held  int // by the first rule
		want  string
	}{
		{[]string{"a: tenant:* = 5"}, 5, "a"},                      // the same again
		{[]string{"a:  tenant : * = 5"}, 5, "a"},                   // spaces do not count
		{[]string{"a: tenant:* = 2"}, 5, "a"},                      // lowered: running ones go on
		{[]string{"a: tenant:* = 8"}, 5, ""},                       // raised: room at once
		{[]string{"a: tenant:* = 5 [shadow]"}, 5, ""},              // on trial
		{[]string{"a: tenant:* = 50%"}, 5, ""},                     // a share of a limit not known
		{[]string{"x: op:* = 9", "a: tenant:* = 5"}, 0, "a"},       // a group before it, other slots
		{[]string{"a: tenant:* = 5", "x: op:* = 9"}, 5, "a"},       // and back
		{[]string{"x: tenant:acme = 1", "a: tenant:* = 5"}, 0, ""}, // an exception begins at zero
		{[]string{"a: tenant:* = 5"}, 5, "a"},                      // without it the count is there still
		{[]string{"b: tenant:* = 5"}, 0, ""},                       // another name is another rule
		{[]string{"a: tenant:a* = 5"}, 0, ""},                      // so is another pattern
		{[]string{"a: tenant:* = 5"}, 0, ""},                       // removed, and so forgotten
		{nil, 0, ""},                                               // no rules
	} {
		if err := c.SetRules(parsed(t, step.rules...)...); err != nil {
			t.Fatal(err)
		}
		if step.rules != nil && c.Counts()[0].Held != step.held {
			t.Errorf("%q: held %d, want %d", step.rules, c.Counts()[0].Held, step.held)
		}
		h, err := c.Acquire(tagsOf("op:write tenant:acme"))
		checkVerdict(t, err, step.want)
		h.Release()
		checkCard(t, c)
	}
	release(holds)
	checkQuiet(t, c)
}

// Rules that are not valid change nothing, also not those among them that are.
func TestSetRulesWhole(t *testing.T) {
	c := card(t, "a: tenant:* = 1")
	holds := hold(t, c, "tenant:acme", 1)
	if err := c.SetRules(Rule{Name: "a", Match: "tenant:*", Cap: Cap{N: 9}}, Rule{Name: "b"}); err == nil {
		t.Fatal("a rule without match was taken")
	}
	_, err := c.Acquire(tagsOf("tenant:acme"))
	checkVerdict(t, err, "a")
	release(holds)
	checkQuiet(t, c)
}

// Holds on a rule that has gone are given back to its own counter, not to that
// of its successor.
func TestReleaseAfterRemoval(t *testing.T) {
	c := card(t, "a: tenant:* = 9", "b: op:write = 9")
	old := hold(t, c, "tenant:acme op:write", 3)
	if err := c.SetRules(parsed(t, "c: tenant:* = 9", "b: op:write = 9")...); err != nil {
		t.Fatal(err)
	}
	fresh := hold(t, c, "tenant:acme op:write", 2)
	release(old)
	checkCard(t, c)
	for i, want := range []int{2, 2} {
		if got := c.Counts()[i].Held; got != want {
			t.Errorf("rule %d: held %d, want %d", i, got, want)
		}
	}
	release(fresh)
	checkQuiet(t, c)
}

// The caller's rules may change after they were given.
func TestRulesAreCopied(t *testing.T) {
	up := Cap{N: 1}
	rules := []Rule{{Name: "a", Match: "tenant:*", Cap: Cap{N: 5}, UnderPressure: &up}}
	c, err := New(rules...)
	if err != nil {
		t.Fatal(err)
	}
	up.N, rules[0].Name, rules[0].Match = 5, "b", "op:*"
	c.SetPressed(true)
	holds := hold(t, c, "tenant:acme", 1)
	_, err = c.Acquire(tagsOf("tenant:acme"))
	checkVerdict(t, err, "a")
	release(holds)
}
