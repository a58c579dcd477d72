package scorecard

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A rule in shadow counts of the same requests the same refusals, tenant by tenant,
// that it makes when it is enforced, though all of them run and the tenants come
// and go and are forgotten meanwhile.
func TestShadowForecastsTheRule(t *testing.T) {
	seen := map[bool]Count{}
	for _, shadow := range []bool{false, true} {
		rule := Rule{Name: "each", Match: "tenant:*", Cap: Cap{N: 3}, Shadow: shadow}
		c, err := New(rule)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(5, 5))
		type leaving struct {
			at   int
			hold Hold
		}
		var running []leaving
		told := uint64(0)
		for i := range 50_000 {
			running = slices.DeleteFunc(running, func(l leaving) bool {
				if l.at <= i {
					l.hold.Release()
				}
				return l.at <= i
			})
			if i%1000 == 0 {
				c.Sweep(t0.Add(time.Duration(i) * time.Millisecond))
			}
			// One tenant of eight is loud, for a fifth of the time each.
			tenant := rng.IntN(8)
			if rng.IntN(2) == 0 {
				tenant = i / 10_000
			}
			stays := 1 + rng.IntN(20)
			h, err := c.Acquire([]Tag{{"tenant", fmt.Sprint(tenant)}})
			if h.Shadowed() != nil {
				told++
			}
			if err == nil {
				running = append(running, leaving{i + stays, h})
			}
		}
		for _, l := range running {
			l.hold.Release()
		}
		for i := range 3 { // all are forgotten
			c.Sweep(t0.Add(time.Hour + time.Duration(i)))
		}
		n := c.Counts()[0]
		if n.Held != 0 || n.Distinct != 0 {
			t.Errorf("held %d, %d counters, want none", n.Held, n.Distinct)
		}
		if told != n.Shadowed {
			t.Errorf("told of %d, counted %d", told, n.Shadowed)
		}
		seen[shadow] = n
	}
	enforced, trial := seen[false], seen[true]
	t.Logf("enforced %+v\nin shadow %+v", enforced, trial)
	if enforced.Refused == 0 || trial.Shadowed != enforced.Refused || trial.Refused != 0 || trial.Admitted != enforced.Admitted {
		t.Errorf("enforced %+v, in shadow %+v, want the same numbers", enforced, trial)
	}
	if len(trial.Top) != 8 {
		t.Errorf("%d tenants named, want all 8", len(trial.Top))
	}
	for i, n := range trial.Top {
		if want := enforced.Top[i]; n.Value != want.Value || n.Refused != want.Refused {
			t.Errorf("%+v, want %+v", n, want)
		}
	}
}

// However many tenants come, are refused and are forgotten, what a rule remembers
// of them is bounded, and the worst is among it.
func TestForgottenRefusalsAreBounded(t *testing.T) {
	c, err := New(Rule{Name: "none", Match: "tenant:*", Shadow: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2000 {
		for range 1 + i%50 {
			if _, err := c.Acquire([]Tag{{"tenant", fmt.Sprint(i % 1000)}}); err != nil {
				t.Fatal(err)
			}
		}
		if i%10 == 9 {
			c.Sweep(t0.Add(time.Duration(i) * time.Second))
		}
	}
	n := c.Counts()[0]
	kept := len(c.mu.rules[0].gone)
	if kept > topOfRule || len(n.Top) != topOfRule || n.Top[0].Refused != 100 || n.Top[topOfRule-1].Refused < 50 {
		t.Errorf("%d kept, top %+v; want %d at most, those with the most first", kept, n.Top, topOfRule)
	}
}

// A Hold that is used again says nothing of the request before.
func TestAcquireLockedAgain(t *testing.T) {
	c, err := New(Rule{Name: "none", Match: "tenant:none"}, Rule{Name: "trial", Match: "tenant:*", Shadow: true})
	if err != nil {
		t.Fatal(err)
	}
	var h Hold
	acquire := func(tenant string) *CapError {
		c.Lock()
		defer c.Unlock()
		h.ReleaseLocked()
		return c.AcquireLocked([]Tag{{"tenant", tenant}}, &h)
	}
	if full := acquire("a"); full != nil || h.Shadowed() == nil {
		t.Fatalf("refused by %v, shadowed by %v; want only the latter", full, h.Shadowed())
	}
	if full := acquire("none"); full == nil || h.Shadowed() != nil {
		t.Errorf("refused by %v, shadowed by %v; want only the former", full, h.Shadowed())
	}
	checkQuiet(t, c)
}
