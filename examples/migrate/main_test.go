package main

import (
	"context"
	"errors"
	"testing"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/spillway-go/spillway/admission"
)

func Example() {
	main()
	// Output:
	// semaphore, before: <nil>
	// semaphore, after: <nil>
	// rate, before: <nil>
	// rate, after: <nil>
	// failsafe, before: <nil>
	// failsafe, after: <nil>
	// netflix, after: <nil>
}

// Each guard, before and after, refuses one that comes while all it has is taken, and
// whoever asks a controller is told that it was shed.
func TestEachRefuses(t *testing.T) {
	one, err := admission.New(admission.Config{Lanes: map[string]admission.LaneConfig{
		"default": {Limit: admission.LimitConfig{Fixed: 1}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	quota, err := perTenant()
	if err != nil {
		t.Fatal(err)
	}
	defer quota.Close()
	spent := context.Background()
	for range 100 {
		if err := heldByQuota(quota, "acme")(spent, done); err != nil {
			t.Fatal(err)
		}
	}
	bucket := rate.NewLimiter(0, 1)
	bucket.Allow()

	for name, tc := range map[string]struct {
		guard guard
		shed  bool // by a controller
	}{
		"semaphore": {heldBySemaphore(semaphore.NewWeighted(1)), false},
		"do":        {heldByController(one), true},
		"rate":      {heldByRate(bucket), false},
		"quota":     {heldByQuota(quota, "acme"), true},
		"failsafe":  {heldByFailsafe(adaptivelimiter.NewBuilder[any]().WithLimits(1, 1, 1).Build()), false},
		"tier":      {heldByTier(one), true},
		"ticket":    {heldByTicket(one), true},
	} {
		t.Run(name, func(t *testing.T) {
			var inner error
			outer := tc.guard(t.Context(), func(context.Context) error {
				past, cancel := context.WithTimeout(t.Context(), 0)
				defer cancel()
				inner = tc.guard(past, done)
				return nil
			})
			refused := errors.Join(outer, inner)
			if refused == nil || errors.Is(refused, admission.ErrShed) != tc.shed {
				t.Errorf("outer %v, inner %v; want a refusal, by a controller: %v", outer, inner, tc.shed)
			}
		})
	}
}

func done(context.Context) error { return nil }

// What the work returns is returned, and the controller hears of it.
func TestOutcomes(t *testing.T) {
	ctrl, err := admission.New(admission.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer ctrl.Close()
	broken := errors.New("broken")
	if err := heldByTicket(ctrl)(t.Context(), func(context.Context) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("err = %v, want the work's own", err)
	}
	lane, _ := ctrl.Stats().Lane("default")
	if got := lane.Tiers[admission.T3].Outcomes; got[admission.Overload] != 1 || got[admission.Failure] != 0 || lane.Inflight != 0 {
		t.Errorf("outcomes %v, inflight %d; want one overload and none inflight", got, lane.Inflight)
	}
}
