package scorecard

import (
	"errors"
	"reflect"
	"testing"
)

// FuzzParseRule: what parses is valid, makes a Card, and prints as something
// that parses to the same.
func FuzzParseRule(f *testing.F) {
	for _, s := range append(tenRules,
		"w: tenant:*;op:write = 20 / 5 [shadow]", "r: t: = 0%", ": = ", "a:b:c=d=7%/0.1%", "r: t:** = 1",
		"r: t:x;t:y = 1", "r: é:ü* = 33.3% / 3", "r: t:\xff* = 1", "r: t:* = 1e3", "r: t:* = .5%", "r: t:*= 1 /") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRule(s)
		if err != nil {
			if !reflect.DeepEqual(r, Rule{}) {
				t.Errorf("%q: a rule with an error: %+v", s, r)
			}
			return
		}
		if err := r.Validate(); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		again, err := ParseRule(r.String())
		if err != nil || !reflect.DeepEqual(again, r) {
			t.Fatalf("%q: %+v prints as %q: %+v, %v", s, r, r, again, err)
		}
		if _, err := New(r, Rule{Name: r.Name + "2", Match: r.Match, Cap: r.Cap, Shadow: !r.Shadow}); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
	})
}

// FuzzMatch: a rule matches what the oracle says it does, alone and among as
// many as make an index.
func FuzzMatch(f *testing.F) {
	f.Add("*", "write", "acme", "write", true)
	f.Add("free-*", "*", "free-", "", true)
	f.Add("", "*", "", "x", false)
	f.Add("a", "b", "a", "", false)
	f.Fuzz(func(t *testing.T, tenantWant, opWant, tenant, op string, withOp bool) {
		r := Rule{Name: "r", Match: "tenant:" + tenantWant + ";op:" + opWant}
		terms, faults := r.compile(0)
		err := errors.Join(faults...)
		if err != nil {
			return
		}
		facts := map[string]string{"tenant": tenant}
		tags := []Tag{{"tenant", tenant}}
		if withOp {
			facts["op"] = op
			tags = append([]Tag{{"op", op}}, tags...)
		}
		_, want := matchText(showMatch(terms), facts)
		rules := []Rule{r}
		for i := range indexFrom {
			n := string(rune('0' + i))
			exception := Rule{Name: n, Match: "op:" + n + ";tenant:" + n, Cap: Cap{N: 1}}
			if _, err := New(r, exception); err == nil { // else it could not stand after r
				rules = append(rules, exception)
			}
		}
		for _, rules := range [][]Rule{rules[:1], rules} {
			c, err := New(rules...)
			if err != nil {
				t.Fatal(err)
			}
			h, err := c.Acquire(tags)
			if got := err != nil; got != want {
				t.Errorf("%q matches %q: %v, want %v", r.Match, tags, got, want)
			}
			h.Release()
			checkQuiet(t, c)
		}
	})
}
