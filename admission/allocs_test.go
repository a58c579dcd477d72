package admission

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/regulators"
	"github.com/spillway-go/spillway/scorecard"
)

// tenRules are the rules of the benchmarks and one that forbids.
func tenRules(tb testing.TB) []scorecard.Rule {
	rules := append([]scorecard.Rule{}, benchController(tb, 1).Config().Scorecard.Rules[:9]...)
	return append(rules, scorecard.Rule{Name: "none", Match: "caller:forbidden", Cap: scorecard.Cap{N: 0}})
}

func wantNoAllocs(t *testing.T, what string, do func()) {
	t.Helper()
	if n := testing.AllocsPerRun(1000, do); n != 0 {
		t.Errorf("%s: %v allocations, want none", what, n)
	}
}

// With ten rules on, neither serving nor refusing allocates, for whatever
// reason there is to refuse without a wait.
func TestHotPathsDoNotAllocate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own, keyed := error(errMine), error(&ShedError{Reason: ReasonKeyed})
		stage := &stageFuncs{name: "s", enter: func(r *Request) error {
			switch r.Op {
			case "stage":
				return own
			case "keyed":
				return keyed
			}
			return nil
		}}
		cfg := Pinned(10, 1)
		cfg.Scorecard.Rules = tenRules(t)
		for _, tc := range []struct {
			name string
			opts []Option
		}{{"plain", nil}, {"staged", []Option{WithStages(stage)}}} {
			c := NewQuiet(t, cfg, tc.opts...)
			ctx, r := context.Context(t.Context()), benchRequest
			wantNoAllocs(t, tc.name+": admit and release", func() {
				ticket, err := c.Admit(ctx, r)
				if err != nil {
					t.Fatal(err)
				}
				ticket.Release(Success)
			})
			refused := func(why Reason, ctx context.Context, r Request, admit func(context.Context, Request) (Ticket, error)) {
				t.Helper()
				_, err := admit(ctx, r)
				wantShed(t, err, why)
				wantNoAllocs(t, tc.name+": "+why.String(), func() {
					if _, err := admit(ctx, r); err == nil {
						t.Fatal("admitted")
					}
				})
			}
			forbidden, stages, actors := r, r, r
			forbidden.Caller, stages.Op, actors.Op = "forbidden", "stage", "keyed"
			past, cancel := context.WithTimeout(ctx, 0)
			defer cancel()
			refused(ReasonDeadline, past, r, c.Admit)
			refused(ReasonTenantCap, ctx, forbidden, c.Admit)
			if tc.opts != nil {
				refused(ReasonStage, ctx, stages, c.Admit)
				refused(ReasonKeyed, ctx, actors, c.Admit)
			}
			holder := hold(t, c, Request{Cost: 10})
			refused(ReasonLimit, ctx, r, c.TryAdmit)
			waiter := enqueue(ctx, c, Request{Priority: NewPriority(T0, 0)})
			synctest.Wait()
			refused(ReasonQueueFull, ctx, r, c.Admit)
			holder.Release(Success)
			(<-waiter).ticket.Release(Success)
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			refused(ReasonClosed, ctx, r, c.Admit)
		}
	})
}

func TestGateDoesNotAllocate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Pinned(10, 1)
		cfg.Scorecard.Rules = tenRules(t)
		two := regulators.Func(func(context.Context) (float64, error) { return 2, nil })
		c := NewQuiet(t, cfg, WithSignal("two", two))
		ctx, batch := context.Context(t.Context()), benchRequest
		batch.Priority = NewPriority(T5, 0)
		for range 1000 {
			_ = c.Do(ctx, batch, quick)
			_ = c.Do(ctx, Request{Priority: NewPriority(T1, 0)}, quick)
			time.Sleep(5 * time.Millisecond)
		}
		_, err := c.Admit(ctx, batch)
		wantShed(t, err, ReasonPriority)
		wantNoAllocs(t, "priority", func() {
			if _, err := c.Admit(ctx, batch); err == nil {
				t.Fatal("admitted")
			}
		})
	})
}

// A wait does not allocate either, once a lane has had as many waiters before.
func TestWaitDoesNotAllocate(t *testing.T) {
	c := NewQuiet(t, Pinned(1, 10))
	l := c.lane()
	ask, got := make(chan struct{}), make(chan Ticket)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range ask {
			ticket, err := c.Admit(context.Background(), Request{})
			if err != nil {
				t.Error(err)
			}
			got <- ticket
		}
	}()
	wantNoAllocs(t, "wait", func() {
		holder := hold(t, c, Request{})
		ask <- struct{}{}
		for waiting := 0; waiting == 0; time.Sleep(time.Microsecond) {
			l.mu.Lock()
			_, _, waiting, _ = l.mu.core.Load()
			l.mu.Unlock()
		}
		holder.Release(Success)
		(<-got).Release(Success)
	})
	close(ask)
	<-done
}
