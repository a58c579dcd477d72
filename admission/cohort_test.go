package admission

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// askAll lets every user ask a service once, and returns who was shed.
func askAll(t *testing.T, c *Controller, users []string) map[string]bool {
	t.Helper()
	shed := map[string]bool{}
	for _, u := range users {
		ticket, err := c.TryAdmit(t.Context(), Request{Tenant: u, Key: u})
		if err != nil {
			wantShed(t, err, ReasonPriority)
			shed[u] = true
			continue
		}
		ticket.Release(Success)
	}
	return shed
}

// pressed keeps a shed ratio in force, as a signal would, or lets go of it.
func pressed(c *Controller, ratio float64) {
	l := c.lane()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.core.SetSignals(ratio, "test")
}

// Two services that know nothing of each other shed the same users, so that
// what a user's request has cost the one is not wasted at the other; for an hour,
// and then others, so that it is not always the same who suffer.
func TestCohortsRotate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hours, few, many = 24, 0.3, 0.5
		users := make([]string, 1000)
		for i := range users {
			users[i] = fmt.Sprintf("user-%d", i)
		}
		cfg := Config{Lanes: map[string]LaneConfig{"": {Limit: LimitConfig{Fixed: 1000}}}}
		front, back := NewQuiet(t, cfg), NewQuiet(t, cfg)
		time.Sleep(time.Until(time.Now().Truncate(cohortPeriod).Add(cohortPeriod)))
		suffered := map[string]int{}
		var before map[string]bool
		again, most := 0, 0
		for hour := range hours {
			// ask keeps the services busy till each gate knows who comes.
			ask := func() (a, b map[string]bool) {
				pressed(front, few)
				pressed(back, many)
				for range 30 {
					a, b = askAll(t, front, users), askAll(t, back, users)
					time.Sleep(100 * time.Millisecond)
				}
				pressed(front, 0)
				pressed(back, 0)
				return a, b
			}
			a, b := ask()
			if share, other := float64(len(a))/1000, float64(len(b))/1000; share < few-0.03 || share > few+0.03 || other < many-0.03 || other > many+0.03 {
				t.Errorf("hour %d: %.3f and %.3f of the users are shed, want %v and %v", hour, share, other, few, many)
			}
			for u := range a {
				suffered[u]++
				if !b[u] {
					t.Errorf("hour %d: %s is shed by the service that sheds few and served by the one that sheds many", hour, u)
				}
			}
			if hour%8 == 0 {
				time.Sleep(50 * time.Minute)
				later, _ := ask()
				t.Logf("hour %d: %d and %d are shed, 50 minutes later %d the same", hour, len(a), len(b), common(a, later))
				if n := common(a, later); n < len(a)-30 {
					t.Errorf("hour %d: 50 minutes later only %d of %d are the same", hour, n, len(a))
				}
			}
			again = max(again, common(a, before))
			if n := common(a, before); n > 150 { // by chance few*few of 1,000
				t.Errorf("hour %d: %d of %d were shed the hour before too", hour, n, len(a))
			}
			before = a
			time.Sleep(time.Until(time.Now().Truncate(cohortPeriod).Add(cohortPeriod)))
		}
		if n := len(suffered); n < 980 {
			t.Errorf("in a day only %d of 1,000 users were shed at all", n)
		}
		for u, n := range suffered {
			most = max(most, n)
			if n > 18 { // five standard deviations beyond 7
				t.Errorf("%s was shed in %d of %d hours", u, n, hours)
			}
		}
		t.Logf("%d users were shed, one of them in %d hours, at most %d in two hours in turn", len(suffered), most, again)
	})
}

func common(a, b map[string]bool) (n int) {
	for u := range a {
		if b[u] {
			n++
		}
	}
	return n
}

func TestCohortOf(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var counts [NumCohorts]int
	same := 0
	for i := range 12_800 {
		key := fmt.Sprint("tenant ", i)
		c := CohortOf(key, at)
		counts[c]++
		if got := CohortOf(key, at.Add(cohortPeriod-1)); got != c {
			t.Fatalf("%q: cohort %d, and %d within the hour", key, c, got)
		}
		if got := CohortOf(key, at.In(time.FixedZone("", 3600*5+1800))); got != c {
			t.Fatalf("%q: cohort %d, and %d in another time zone", key, c, got)
		}
		if CohortOf(key, at.Add(cohortPeriod)) == c {
			same++
		}
	}
	for c, n := range counts {
		if n < 50 || n > 150 { // five standard deviations of 100
			t.Errorf("cohort %d has %d of 12,800 keys, want about 100", c, n)
		}
	}
	if same > 150 {
		t.Errorf("%d of 12,800 keys kept their cohort the next hour, want about 100", same)
	}
}

// The short way to a rank is that of whole priorities alone, and leads where the long one
// does, for whatever somebody makes of a number.
func TestWholeRank(t *testing.T) {
	whole := 0
	for p := range Priority(Exempt) {
		rank, ok := p.wholeRank()
		if !ok {
			continue
		}
		if whole++; rank != p.rank() || NewPriority(p.Tier(), p.Cohort()) != p {
			t.Fatalf("%#x, which is %q: rank %d, and %d the long way", uint16(p), p, rank, p.rank())
		}
	}
	if whole != NumTiers*NumCohorts {
		t.Errorf("%d are whole, want %d", whole, NumTiers*NumCohorts)
	}
	if _, ok := Exempt.wholeRank(); ok {
		t.Error("Exempt is whole")
	}
}
