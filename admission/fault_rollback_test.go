package admission

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/spillway-go/spillway/scorecard"
)

func tenantCap(cfg Config, n int) Config {
	cfg.Scorecard.Rules = []scorecard.Rule{{Name: "tenant", Match: "tenant:*", Cap: scorecard.Cap{N: n}}}
	return cfg
}

// held is how many the rules hold together.
func held(c *Controller) (n int) {
	for _, r := range c.Stats().Rules {
		n += int(r.Held)
	}
	return n
}

// B31 (a): what an earlier step took is not given back when a later one refuses.
func TestRefusalTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewQuiet(t, tenantCap(Pinned(1, 1), 2))
		holder := hold(t, c, Request{Tenant: "other"})
		acme := Request{Tenant: "acme"}
		for range 1000 {
			_, err := c.TryAdmit(t.Context(), acme)
			wantShed(t, err, ReasonLimit)
		}
		holder.Release(Success)
		if n := held(c); n != 0 {
			t.Errorf("%d held by tenants of whom none runs", n)
		}
		if err := c.Apply(tenantCap(Pinned(5, 1), 2)); err != nil {
			t.Fatal(err)
		}
		a, b := hold(t, c, acme), hold(t, c, acme)
		_, err := c.TryAdmit(t.Context(), acme)
		wantShed(t, err, ReasonTenantCap)
		a.Release(Success)
		b.Release(Success)
	})
}

// B31 (b): one noisy tenant at its cap uses up everybody's slots.
func TestNoisyTenantCostsOthersNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewQuiet(t, tenantCap(Pinned(2, 1), 1))
		noisy := hold(t, c, Request{Tenant: "noisy"})
		served := 0
		for i := range 10_000 {
			_, err := c.Admit(t.Context(), Request{Tenant: "noisy"})
			wantShed(t, err, ReasonTenantCap)
			if i%100 == 0 && c.Do(t.Context(), Request{Tenant: "other"}, quick) == nil {
				served++
			}
		}
		if served != 100 {
			t.Errorf("%d of the other's 100 were served", served)
		}
		noisy.Release(Success)
	})
}

// B31 (c): the user's own code panics on the request's way: in a stage, or in
// the hook that is told of a refusal, in whatever mode.
func TestPanicsOnTheWayTakeNothing(t *testing.T) {
	for _, mode := range []Mode{Enforce, Shadow} {
		for _, where := range []string{"enter", "exit", "hook"} {
			t.Run(mode.String()+"/"+where, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					calls := 0
					second := func(at string) {
						if at != where {
							return
						}
						if calls++; calls%2 == 0 {
							panic(errMine)
						}
					}
					inner := &stageFuncs{name: "inner", enter: func(r *Request) error {
						second("enter")
						if r.Op == "stage" {
							return errMine
						}
						return nil
					}, exit: func(*Request, Outcome) { second("exit") }}
					outer := &stageFuncs{name: "outer"}
					cfg := tenantCap(Pinned(3, 1), 2)
					cfg.Mode = mode
					c := NewQuiet(t, cfg, WithStages(outer, inner), WithHooks(Hooks{
						Shed: func(context.Context, Refusal) { second("hook") },
					}))
					full := hold(t, c, Request{Tenant: "full", Cost: 2})
					panics := 0
					for i := range 1000 {
						r := Request{Tenant: "acme", Op: []string{"served", "stage", "limit"}[i%3]}
						if r.Op == "limit" {
							r.Cost = 2
						}
						func() {
							defer func() {
								if v := recover(); v != nil {
									panics++
								}
							}()
							if ticket, err := c.TryAdmit(t.Context(), r); err == nil {
								ticket.Release(Success)
							}
						}()
					}
					if panics == 0 {
						t.Error("nothing panicked")
					}
					if outer.entered != outer.exited+1 {
						t.Errorf("%d entered, %d exited, one runs", outer.entered, outer.exited)
					}
					if n := held(c); n != 1 {
						t.Errorf("%d held, want that of the one that runs", n)
					}
					where = ""
					full.Release(Success)
				})
			})
		}
	}
}

// B31 (d): the caller leaves at each step of its way.
func TestCallerLeavesAtEachStep(t *testing.T) {
	gone := errors.New("gone")
	for _, step := range []string{"before", "stage", "queue", "running"} {
		t.Run(step, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				stage := &stageFuncs{name: "s", enter: func(r *Request) error {
					if r.Tenant == "acme" && step == "stage" {
						cancel(gone)
					}
					return nil
				}}
				c := NewQuiet(t, tenantCap(Pinned(1, 1), 1), WithStages(stage))
				var holder Ticket
				if step != "running" {
					holder = hold(t, c, Request{Tenant: "other"})
				}
				if step == "before" {
					cancel(gone)
				}
				waiter := enqueue(ctx, c, Request{Tenant: "acme"})
				synctest.Wait()
				cancel(gone)
				got := <-waiter
				if step == "running" {
					if got.err != nil {
						t.Fatal(got.err)
					}
					got.ticket.Release(Ignore)
				} else if !errors.Is(got.err, gone) || errors.Is(got.err, ErrShed) {
					t.Errorf("err = %v, want the caller's own cause", got.err)
				}
				holder.Release(Success)
				if n := held(c); n != 0 || stage.entered != stage.exited {
					t.Errorf("%d held, %d entered, %d exited", n, stage.entered, stage.exited)
				}
			})
		})
	}
}
