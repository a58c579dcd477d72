package admission

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
)

// The outcome follows from the function's error, wrapped or not.
func TestDoMapsErrorsToOutcomes(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want Outcome
	}{
		{nil, Success},
		{context.DeadlineExceeded, Overload},
		{fmt.Errorf("query: %w", context.DeadlineExceeded), Overload},
		{context.Canceled, Ignore},
		{fmt.Errorf("query: %w", context.Canceled), Ignore},
		{errMine, Failure},
		{errors.Join(errMine, context.DeadlineExceeded), Overload},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := NewQuiet(t, Pinned(1, 1))
			type key struct{}
			ctx := context.WithValue(t.Context(), key{}, "value")
			err := c.Do(ctx, Request{Priority: NewPriority(T2, 0)}, func(got context.Context) error {
				if got.Value(key{}) != "value" || only(t, c).Inflight != 1 {
					t.Error("it runs without its context or without a slot")
				}
				return tc.err
			})
			if !errors.Is(err, tc.err) {
				t.Errorf("Do returned %v, want the function's own %v", err, tc.err)
			}
			want := [4]uint64{}
			want[tc.want] = 1
			if got := only(t, c).Tiers[T2].Outcomes; got != want {
				t.Errorf("%v: outcomes %v, want one %v", tc.err, got, tc.want)
			}
		})
	}
}

func TestDoRefuses(t *testing.T) {
	c := NewQuiet(t, Pinned(1, 1))
	if err := c.Do(t.Context(), Request{}, nil); err == nil || errors.Is(err, ErrShed) {
		t.Errorf("fn nil: %v, want an error of its own", err)
	}
	for _, r := range []Request{{Cost: -1}, {Bytes: -1}, {Attempt: -1}, {Lane: "nowhere"}} {
		err := c.Do(t.Context(), r, func(context.Context) error { t.Error("it ran"); return nil })
		if err == nil || errors.Is(err, ErrShed) {
			t.Errorf("%+v: %v, want an error that is no shedding", r, err)
		}
	}
}

// Exempt requests are counted and nothing else: whatever state the service is
// in they run, hold no slot, give no sample and meet no stage or rule.
func TestExemptIsNeverShed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stage := &stageFuncs{name: "s", enter: func(r *Request) error {
			if r.Tenant == "probe" {
				return errMine
			}
			return nil
		}}
		c := NewQuiet(t, tenantCap(Pinned(1, 1), 1), WithStages(stage))
		holder := hold(t, c, Request{})
		waiter := enqueue(t.Context(), c, Request{Tenant: "waits"})
		synctest.Wait()
		before := only(t, c)
		probe := Request{Priority: Exempt, Tenant: "probe"}
		for range 100 {
			ticket, err := c.Admit(t.Context(), probe)
			if err != nil || ticket != (Ticket{}) {
				t.Fatalf("%v, %v, want it to run and hold nothing", ticket, err)
			}
			if err := c.Do(t.Context(), probe, quick); err != nil {
				t.Fatal(err)
			}
			ticket.Release(Success)
		}
		if n := c.Stats().Exempt; n != 200 {
			t.Errorf("%d exempt, want 200", n)
		}
		if after := only(t, c); after.Tiers != before.Tiers || after.Service != before.Service || after.Inflight != 1 {
			t.Error("exempt requests have left a trace in the lane")
		}
		holder.Release(Success)
		(<-waiter).ticket.Release(Success)
	})
	// Nobody outside may claim it.
	c := NewQuiet(t, Config{})
	if p := c.Untrusted(Exempt); p.Tier() != T3 || p == Exempt {
		t.Errorf("Untrusted(Exempt) is %v", p)
	}
	if p, err := ParsePriority("exempt"); err == nil {
		t.Errorf("exempt was parsed as %v", p)
	}
}
