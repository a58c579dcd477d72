package scorecard

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// crowd is a card of so many tenants, each refused once to ten times by one rule or
// only counted by another.
func crowd(t *testing.T, tenants int) (c *Card, all []TenantCount) {
	c = card(t, "each: tenant:* = 0", "ops: op:* = 9")
	c.SetMaxTenants(2 * tenants)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range tenants {
		n := TenantCount{Rule: "each", Value: fmt.Sprint("t", i), Refused: uint64(1 + random.IntN(10))}
		for range n.Refused {
			if _, err := c.Acquire([]Tag{{"tenant", n.Value}}); err == nil {
				t.Fatal("admitted over a cap of 0")
			}
		}
		held := TenantCount{Rule: "ops", Value: fmt.Sprint("o", i), Held: 1 + random.IntN(9)}
		hold(t, c, "op:"+held.Value, held.Held)
		all = append(all, n, held)
	}
	slices.SortFunc(all, func(a, b TenantCount) int {
		return cmp.Or(cmp.Compare(b.Refused, a.Refused), cmp.Compare(b.Held, a.Held))
	})
	return c, all
}

// Of very many the right ones are named, the same ones each time though most are
// equal, and each with what it has.
func TestTopOfMany(t *testing.T) {
	c, all := crowd(t, 5000)
	for _, k := range []int{1, 20, 6000} {
		counts, top := c.Snapshot(k)
		if !reflect.DeepEqual(top, c.Top(k)) || !reflect.DeepEqual(counts, c.Counts()) {
			t.Errorf("top %d is not the same twice", k)
		}
		seen := map[TenantCount]bool{}
		for i, n := range top {
			if seen[n] = true; n.Refused != all[i].Refused || n.Held != all[i].Held || !slices.Contains(all, n) {
				t.Errorf("top %d: %d. is %+v, want the like of %+v", k, i, n, all[i])
			}
		}
		if len(seen) != k || len(counts[0].Top) != topOfRule || counts[0].Top[0].Refused != 10 || counts[1].Top != nil {
			t.Errorf("top %d names %d, of the rules %+v", k, len(seen), counts)
		}
	}
}

// However many counters there are, requests wait for few of them to be read, and where
// there are few it takes few turns.
func TestReadsFewAtOnce(t *testing.T) {
	for _, n := range []int{0, 3, 5000} {
		c, all := crowd(t, n)
		c.SetMaxTenants(defaultMax)
		seen, most, turns := map[*counter]bool{}, 0, 0
		for at, more := 0, true; more; turns++ {
			from := at
			var some []reading
			some, at, more = c.some(nil, at)
			most = max(most, len(some))
			for _, r := range some {
				seen[r.counter] = true
			}
			if at-from > stretch {
				t.Errorf("%d buckets at once", at-from)
			}
		}
		if len(seen) != len(all) || most > few+20 { // a bucket of 20 is not to be met with
			t.Errorf("read %d of %d counters, %d at once", len(seen), len(all), most)
		}
		if turns > 20+len(all)/few { // after each it rests
			t.Errorf("%d turns for %d counters", turns, len(all))
		}
	}
}

// Whose counter moves to another bucket while it is looked for is named once, also if
// he is refused in between.
func TestTopNamesNobodyTwice(t *testing.T) {
	const tenants = 60
	c := card(t, "r: tenant:* = 0")
	c.SetMaxTenants(tenants)
	refuse := func() {
		for i := range tenants {
			_, _ = c.Acquire(tagsOf(fmt.Sprint("tenant:", i)))
		}
	}
	refuse()
	seen, all := 0, ranking{most: 2 * tenants}
	c.look(func(r reading) {
		if seen++; seen == 1 {
			c.SetMaxTenants(16 * tenants)
			refuse()
		}
		all.add(r)
	})
	if seen <= tenants {
		t.Errorf("%d tenants are seen %d times: none twice", tenants, seen)
	}
	if n := len(all.named()); n > tenants {
		t.Errorf("%d of %d tenants are named", n, tenants)
	}
}
