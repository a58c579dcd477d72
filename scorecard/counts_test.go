package scorecard

import (
	"reflect"
	"testing"
)

func TestCounts(t *testing.T) {
	c := card(t, "acme: tenant:acme = 2", "all: tenant:* = 1", "trial: tenant:*;op:* = 1 [shadow]", "shut: key:x;op:y = 0")
	holds := hold(t, c, "tenant:acme op:write", 2)
	holds = append(holds, hold(t, c, "tenant:globex op:", 1)...)
	holds = append(holds, hold(t, c, "tenant:", 1)...)
	for _, tags := range []string{"tenant:acme op:write", "tenant:globex op:read", "tenant:globex", "key:x op:y"} {
		if _, err := c.Acquire(tagsOf(tags)); err == nil {
			t.Fatalf("%s: admitted over the cap", tags)
		}
	}
	want := []Count{
		{Rule: "acme", Held: 2, Admitted: 2, Refused: 1, Top: []TenantCount{{"acme", "acme", 2, 1}}},
		{Rule: "all", Wild: true, Held: 2, Distinct: 2, Admitted: 2, Refused: 2, Top: []TenantCount{{"all", "globex", 1, 2}}},
		// globex op:read was refused before its counter was looked for.
		{Rule: "trial", Wild: true, Held: 2, Distinct: 2, Admitted: 2, Shadowed: 1, Top: []TenantCount{{"trial", "acme;write", 1, 1}}},
		{Rule: "shut", Refused: 1, Top: []TenantCount{{"shut", "x;y", 0, 1}}},
	}
	if got := c.Counts(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	top := []TenantCount{
		{"all", "globex", 1, 2},
		{"acme", "acme", 2, 1},
		{"trial", "acme;write", 1, 1},
		{"shut", "x;y", 0, 1},
		{"all", "(none)", 1, 0},
		{"trial", "globex;(none)", 1, 0},
	}
	for k := -1; k <= len(top)+1; k++ {
		want := top[:max(0, min(k, len(top)))]
		if got := c.Top(k); !reflect.DeepEqual(got, want) && len(got)+len(want) > 0 {
			t.Errorf("top %d:\ngot  %+v\nwant %+v", k, got, want)
		}
	}
	release(holds)
	checkQuiet(t, c)
}
