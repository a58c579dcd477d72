package promadmission

import (
	"testing"

	"github.com/spillway-go/spillway/scorecard"
)

// Tenants are read a moment after their rule, and then are ahead of it. What came in
// that moment is not put down to the others when the rule makes up for it.
func TestTenantsAheadOfTheirRule(t *testing.T) {
	o := newOthers(1)
	look := func(rule, a uint64) uint64 {
		t.Helper()
		rules := []scorecard.Count{{Rule: "each", Wild: true, Refused: rule}}
		for _, s := range o.split(rules, []scorecard.TenantCount{{Rule: "each", Value: "a", Refused: a}}) {
			if s.Value == otherTenants {
				return s.Refused
			}
		}
		t.Fatal("the others are not shown")
		return 0
	}
	for i, step := range []struct{ rule, a, others uint64 }{
		{10, 10, 10}, // what was before he was shown
		{15, 25, 10}, // he is ahead by 10
		{16, 26, 10},
		{30, 30, 10},
		{37, 32, 15}, // five of somebody else's
	} {
		if got := look(step.rule, step.a); got != step.others {
			t.Errorf("step %d: the others are at %d, want %d", i, got, step.others)
		}
	}
}
