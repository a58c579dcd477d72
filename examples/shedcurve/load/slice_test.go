package load

import (
	"maps"
	"net/http"
	"testing"
	"time"
)

// A request counts in the slice in which it was due, and the slices together are the whole.
func TestSlices(t *testing.T) {
	bubble(t, workers(1, 10*time.Millisecond), func(t *testing.T, c *Client) {
		start := time.Now()
		all, err := Run(t.Context(), c, Config{
			Mix: mixOf(t, "tier=t1 tenant=a GET /"), Rate: 150, WarmUp: 2 * time.Second, Duration: 5100 * time.Millisecond,
			Slice: 500 * time.Millisecond, Deadline: 300 * time.Millisecond, Seed: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != 11 {
			t.Fatalf("%d slices, want 11", len(all))
		}
		offered := 0
		for i, s := range all {
			want := 500 * time.Millisecond
			if i == 10 {
				want = 100 * time.Millisecond
			}
			if from := 2*time.Second + time.Duration(i)*500*time.Millisecond; s.Start.Sub(start) != from || s.Duration != want {
				t.Errorf("slice %d: from %v for %v, want from %v for %v", i, s.Start.Sub(start), s.Duration, from, want)
			}
			near(t, "offered in a slice", float64(s.Offered), 150*want.Seconds(), 0.5)
			offered += s.Offered
		}
		if whole := all.Merge(nil); whole.Offered != offered || whole.Duration != 5100*time.Millisecond || whole.Lag.Count() != offered {
			t.Errorf("whole: %d offered, %d lags in %v; want %d in 5.1s", whole.Offered, whole.Lag.Count(), whole.Duration, offered)
		}
	})
}

func TestMerge(t *testing.T) {
	slice := func(took time.Duration, answers ...answer) Slice {
		tl := newTally(time.Second)
		for _, a := range answers {
			tl.add("t1", "a", time.Millisecond, took, a)
		}
		tl.res.Duration = time.Second
		return Slice{Result: tl.res}
	}
	good, shed := answer{status: 200, retryAfter: -1}, answer{status: http.StatusServiceUnavailable, reason: "limit", retryAfter: 3}
	s := Slices{
		slice(10*time.Millisecond, good, good, shed),
		slice(900*time.Millisecond, answer{status: 500, retryAfter: -1}),
		slice(20*time.Millisecond, good, shed),
	}
	kept := s.Merge(func(one Slice) bool { return one.Good > 0 })
	if kept.Offered != 5 || kept.Good != 3 || kept.Shed != 2 || kept.Failed != 0 || kept.Duration != 2*time.Second {
		t.Errorf("kept %d offered, %d good, %d shed, %d failed in %v", kept.Offered, kept.Good, kept.Shed, kept.Failed, kept.Duration)
	}
	if want := (Tally{5, 3, 2}); kept.Tiers["t1"] != want || kept.Tenants["a"] != want {
		t.Errorf("tiers %v, tenants %v", kept.Tiers, kept.Tenants)
	}
	if kept.Reasons["limit"] != 2 || kept.RetryAfter[3] != 2 || len(kept.Failures) != 0 {
		t.Errorf("reasons %v, hints %v, failures %v", kept.Reasons, kept.RetryAfter, kept.Failures)
	}
	if kept.Admitted.Count() != 3 || kept.Lag.Count() != 5 {
		t.Errorf("%d latencies, %d lags; want 3 and 5", kept.Admitted.Count(), kept.Lag.Count())
	}
	near(t, "p99 of what was kept", kept.Admitted.Quantile(0.99).Seconds(), 0.020, 0.01)

	whole := s.Merge(nil)
	if whole.Offered != 6 || !maps.Equal(whole.Failures, map[string]int{"status 500": 1}) || whole.Duration != 3*time.Second {
		t.Errorf("whole: %d offered, failures %v, in %v", whole.Offered, whole.Failures, whole.Duration)
	}
	if s[0].Good != 2 || s[0].Tiers["t1"].Offered != 3 || s[0].Admitted.Count() != 2 {
		t.Errorf("merging changed a slice: %+v", s[0].Result)
	}
	if none := s.Merge(func(Slice) bool { return false }); none.Offered != 0 || none.Duration != 0 || none.Admitted.Quantile(0.5) != 0 {
		t.Errorf("nothing kept: %+v", none)
	}
}
