package scorecard

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// TestVerdict: with these rules, while the requests of held run (as many as
// the number says), what happens to asked: "" if it is admitted, else the name
// of the rule that refuses.
func TestVerdict(t *testing.T) {
	long := strings.Repeat("x", maxValue+1)
	tests := []struct {
		name  string
		rules []string
		held  map[string]int
		asked string
		want  string
	}{
		{"no rules", nil, nil, "tenant:acme", ""},
		{"under the cap", []string{"r: tenant:acme = 2"}, map[string]int{"tenant:acme": 1}, "tenant:acme", ""},
		{"at the cap", []string{"r: tenant:acme = 2"}, map[string]int{"tenant:acme": 2}, "tenant:acme", "r"},
		{"another value", []string{"r: tenant:acme = 0"}, nil, "tenant:globex", ""},
		{"no such tag", []string{"r: tenant:* = 0"}, nil, "op:write", ""},
		{"case counts", []string{"r: tenant:acme = 0"}, nil, "tenant:Acme", ""},
		{"zero forbids", []string{"r: tenant:acme = 0"}, nil, "tenant:acme", "r"},

		{"a star counts each value by itself", []string{"r: tenant:* = 1"}, map[string]int{"tenant:acme": 1}, "tenant:globex", ""},
		{"and has a cap for each", []string{"r: tenant:* = 1"}, map[string]int{"tenant:acme": 1}, "tenant:acme", "r"},
		{"a prefix", []string{"r: tenant:free-* = 0"}, nil, "tenant:free-1", "r"},
		{"a prefix alone", []string{"r: tenant:free-* = 0"}, nil, "tenant:free-", "r"},
		{"not the prefix", []string{"r: tenant:free-* = 0"}, nil, "tenant:free", ""},
		{"an empty value is a value", []string{"r: tenant:* = 1"}, map[string]int{"tenant:": 1}, "tenant:", "r"},
		{"an empty value by itself", []string{"r: tenant:* = 1"}, map[string]int{"tenant:acme": 1}, "tenant:", ""},
		{"an empty value by name", []string{"r: tenant: = 0", "s: tenant:* = 1"}, nil, "tenant:", "r"},
		{"colons in a value", []string{"r: op:a:b = 0"}, nil, "op:a:b", "r"},

		{"and: both", []string{"r: tenant:acme;op:write = 0"}, nil, "op:write tenant:acme", "r"},
		{"and: one", []string{"r: tenant:acme;op:write = 0"}, nil, "op:read tenant:acme", ""},
		{"and: one there", []string{"r: tenant:acme;op:write = 0"}, nil, "tenant:acme", ""},
		{"each pair by itself", []string{"r: tenant:*;op:* = 1"}, map[string]int{"tenant:acme op:write": 1}, "tenant:acme op:read", ""},
		{"pairs do not run together", []string{"r: tenant:*;op:* = 1"}, map[string]int{"tenant:a op:bc": 1}, "tenant:ab op:c", ""},
		{"values do not swap", []string{"r: tenant:*;op:* = 1"}, map[string]int{"tenant:a op:b": 1}, "tenant:b op:a", ""},
		{"one pair", []string{"r: tenant:*;op:* = 1"}, map[string]int{"tenant:acme op:write": 1}, "op:write tenant:acme", "r"},

		{"exception first: counts alone", []string{"acme: tenant:acme = 3", "all: tenant:* = 1"}, map[string]int{"tenant:acme": 2}, "tenant:acme", ""},
		{"exception first: its own cap", []string{"acme: tenant:acme = 1", "all: tenant:* = 3"}, map[string]int{"tenant:acme": 1}, "tenant:acme", "acme"},
		{"one group, keys in any order", []string{"a: op:write;tenant:acme = 3", "b: tenant:*;op:write = 0"}, nil, "tenant:acme op:write", ""},
		{"groups all count: the first", []string{"t: tenant:* = 1", "w: op:write = 9"}, map[string]int{"tenant:acme op:write": 1}, "tenant:acme op:write", "t"},
		{"groups all count: the second", []string{"t: tenant:* = 9", "w: op:write = 1"}, map[string]int{"tenant:acme op:write": 1}, "tenant:globex op:write", "w"},

		{"shadow does not refuse", []string{"r: tenant:* = 0 [shadow]"}, nil, "tenant:acme", ""},
		{"shadow does not stand before others", []string{"s: tenant:* = 9 [shadow]", "r: tenant:* = 0"}, nil, "tenant:acme", "r"},

		{"a repeated key: the first", []string{"r: tenant:acme = 0"}, nil, "tenant:globex tenant:acme", ""},
		{"a repeated key: the first, still", []string{"r: tenant:acme = 0"}, nil, "tenant:acme tenant:globex", "r"},
		{"64 tags are read", []string{"r: tenant:acme = 0"}, nil, strings.Repeat("x:y ", 63) + "tenant:acme", "r"},
		{"and no more", []string{"r: tenant:acme = 0"}, nil, strings.Repeat("x:y ", 64) + "tenant:acme", ""},
		{"tags without key", []string{"r: tenant:acme = 0"}, nil, ":acme : tenant:acme", "r"},

		{"long values share", []string{"r: tenant:* = 1"}, map[string]int{"tenant:" + long: 1}, "tenant:" + long + "y", "r"},
		{"long values with a prefix", []string{"r: tenant:x* = 0", "s: tenant:* = 1"}, nil, "tenant:" + long, "r"},
		{"the longest short value", []string{"r: tenant:* = 1"}, map[string]int{"tenant:" + long[1:]: 1}, "tenant:" + long, ""},

		{"share of an unknown limit", []string{"r: tenant:* = 1%"}, map[string]int{"tenant:acme": 99}, "tenant:acme", ""},
		{"share of default", []string{"r: lane2:* = 0", "s: tenant:* = 25%"}, map[string]int{"tenant:acme lane:": 2}, "tenant:acme", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := card(t, tt.rules...)
			var holds []Hold
			for tags, n := range tt.held {
				holds = append(holds, hold(t, c, tags, n)...)
			}
			h, err := c.Acquire(tagsOf(tt.asked))
			checkVerdict(t, err, tt.want)
			checkCard(t, c)
			h.Release()
			release(holds)
			checkQuiet(t, c)
		})
	}
}

func checkVerdict(t *testing.T, err error, want string) {
	t.Helper()
	var e *CapError
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v; want admitted", err)
	case want != "" && err == nil:
		t.Errorf("admitted; want refused by %s", want)
	case want != "" && (!errors.Is(err, ErrOverCap) || !errors.As(err, &e) || e.Rule != want):
		t.Errorf("got %v; want refused by %s", err, want)
	}
}

// TestBound: how many are admitted of one tenant, by caps, the limits of lanes
// and pressure.
func TestBound(t *testing.T) {
	limits := map[string]int{"read": 10, "write": 100, "": 40, "gone": 0}
	tests := []struct {
		cap     string
		tags    string
		pressed bool
		want    int
		err     string // the refusal after that many
	}{
		{"20", "", false, 20, "over its cap of 20"},
		{"20 / 5", "", false, 20, "over its cap of 20"},
		{"20 / 5", "", true, 5, "over its cap of 5 under pressure"},
		{"20 / 0", "", true, 0, "over its cap of 0 under pressure"},
		{"20", "", true, 20, "over its cap of 20"},
		{"25%", "lane:write", false, 25, "over its cap of 25% of the limit"},
		{"25%", "lane:read", false, 3, "over its cap of 25% of the limit"},
		{"24%", "lane:read", false, 2, "over its cap of 24% of the limit"},
		{"1%", "lane:read", false, 2, "over its cap of 1% of the limit"},
		{"25%", "", false, 10, "over its cap of 25% of the limit"},
		{"25%", "lane:", false, 10, "over its cap of 25% of the limit"},
		{"25%", "lane:default", false, 10, "over its cap of 25% of the limit"},
		{"100% / 10%", "lane:write", true, 10, "over its cap of 10% of the limit under pressure"},
		{"7 / 50%", "lane:write", true, 7, "over its cap of 7"},
		{"7 / 50%", "lane:read", true, 5, "over its cap of 50% of the limit under pressure"},
		{"7 / 50%", "lane:gone", true, 7, "over its cap of 7"},
		{"50% / 7", "lane:unheard-of", true, 7, "over its cap of 7 under pressure"},
	}
	for _, tt := range tests {
		c := card(t, "r: tenant:* = "+tt.cap)
		for lane, n := range limits {
			c.SetLimit(lane, n)
		}
		c.SetPressed(tt.pressed)
		tags := "tenant:acme " + tt.tags
		holds := hold(t, c, tags, tt.want)
		_, err := c.Acquire(tagsOf(tags))
		if want := `scorecard: rule "r": ` + tt.err; err == nil || err.Error() != want {
			t.Errorf("%s, %q, pressed %v: after %d: %v; want %s", tt.cap, tt.tags, tt.pressed, tt.want, err, want)
		}
		release(holds)
		checkQuiet(t, c)
	}
}

// A share follows the limit down and up, and holds stay.
func TestShareFollowsLimit(t *testing.T) {
	c := card(t, "r: tenant:* = 50%")
	c.SetLimit("default", 10)
	holds := hold(t, c, "tenant:acme", 5)
	for _, step := range []struct {
		limit int
		want  string
	}{{10, "r"}, {8, "r"}, {11, ""}, {-1, ""}, {2, "r"}} {
		c.SetLimit("default", step.limit)
		h, err := c.Acquire(tagsOf("tenant:acme"))
		checkVerdict(t, err, step.want)
		h.Release()
	}
	release(holds)
	checkQuiet(t, c)
}

// The share of a small limit lets one run and one wait, however small it is; a number may be less.
func TestShareOfASmallLimit(t *testing.T) {
	c := card(t, "share: tenant:* = 10%", "one: op:* = 1")
	for _, limit := range []int{1, 4, 14, 24} {
		c.SetLimit("default", limit)
		holds := hold(t, c, "tenant:acme", 2)
		_, err := c.Acquire(tagsOf("tenant:acme"))
		checkVerdict(t, err, "share")
		release(holds)
	}
	holds := hold(t, c, "op:write", 1)
	_, err := c.Acquire(tagsOf("op:write"))
	checkVerdict(t, err, "one")
	release(holds)
	checkQuiet(t, c)
}

func TestHold(t *testing.T) {
	c := card(t, "t: tenant:* = 2", "w: op:write = 2")
	var zero Hold
	zero.Release()
	holds := hold(t, c, "tenant:acme op:write", 2)
	refused, err := c.Acquire(tagsOf("tenant:acme op:write"))
	checkVerdict(t, err, "t")
	refused.Release() // of a refusal: does nothing

	holds[0].Release()
	holds[0].Release()
	if got := c.Counts()[0].Held; got != 1 {
		t.Errorf("held %d after one of two was released twice, want 1", got)
	}
	holds[1].Release()
	checkQuiet(t, c)

	var free Card // no rules
	h, err := free.Acquire(tagsOf("tenant:acme"))
	checkVerdict(t, err, "")
	h.Release()
	free.Sweep(t0)
	if n := free.Counts(); len(n) != 0 {
		t.Errorf("the zero Card counts %v", n)
	}
}

// A refusal by the last group leaves nothing taken in those before it.
func TestAllOrNone(t *testing.T) {
	c := card(t, "a: tenant:* = 9", "b: op:* = 9", "c: key:* = 9 [shadow]", "d: lane:* = 0")
	for range 3 {
		_, err := c.Acquire(tagsOf("tenant:acme op:write key:k lane:l"))
		checkVerdict(t, err, "d")
		checkQuiet(t, c)
	}
	for i, n := range c.Counts() {
		want := Count{Rule: n.Rule, Wild: true, Distinct: 1}
		n.Top = nil
		if i == 3 {
			want.Refused = 3
		}
		if !reflect.DeepEqual(n, want) {
			t.Errorf("got %+v, want %+v", n, want)
		}
	}
}
