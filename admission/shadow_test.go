package admission

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/regulators"
	"github.com/spillway-go/spillway/scorecard"
)

// In shadow nobody is shed or made to wait, what would have been is counted by
// its reason, and all counters are zero afterwards.
func TestShadowShedsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Pinned(1, 2)
		cfg.Mode = Shadow
		lane := cfg.Lanes["default"]
		lane.Queue.Target, lane.Queue.Interval = time.Second, time.Minute
		cfg.Lanes["default"] = lane
		cfg.Scorecard.Rules = []scorecard.Rule{{Name: "none", Match: "tenant:capped", Cap: scorecard.Cap{N: 0}}}
		stage := &stageFuncs{name: "s", enter: func(r *Request) error {
			if r.Op == "stage" {
				return errMine
			}
			return nil
		}}
		told := map[Reason]int{}
		c := NewQuiet(t, cfg, WithStages(stage), WithHooks(Hooks{Shed: func(_ context.Context, r Refusal) {
			if !r.Shadow {
				t.Errorf("told of a refusal that is none: %+v", r)
			}
			told[r.Err.Reason]++
		}}))
		var running []Ticket
		admit := func(ctx context.Context, r Request, ask func(context.Context, Request) (Ticket, error)) {
			t.Helper()
			begin := time.Now()
			ticket, err := ask(ctx, r)
			if err != nil || time.Since(begin) != 0 {
				t.Errorf("%v after %v, want it to run at once", err, time.Since(begin))
			}
			running = append(running, ticket)
		}
		past, cancel := context.WithTimeout(t.Context(), 0)
		defer cancel()
		admit(t.Context(), Request{Op: "runs"}, c.Admit)
		admit(t.Context(), Request{Op: "waits"}, c.Admit)
		admit(t.Context(), Request{Op: "is evicted", Priority: NewPriority(T4, 0)}, c.Admit)
		admit(t.Context(), Request{Op: "takes its place", Priority: NewPriority(T1, 0)}, c.Admit)
		admit(t.Context(), Request{Op: "finds no place", Priority: NewPriority(T5, 0)}, c.Admit)
		admit(t.Context(), Request{Op: "will not wait"}, c.TryAdmit)
		admit(t.Context(), Request{Tenant: "capped"}, c.Admit)
		admit(t.Context(), Request{Op: "stage"}, c.Admit)
		admit(past, Request{Op: "dead on arrival"}, c.Admit)
		time.Sleep(2 * time.Minute) // the two that would wait would expire
		l := only(t, c)
		var would [NumReasons]uint64
		for _, tier := range l.Tiers {
			for why, n := range tier.Shadow {
				would[why] += n
			}
		}
		if shed(l) != 0 {
			t.Errorf("%d shed in shadow", shed(l))
		}
		for _, why := range []Reason{ReasonEvicted, ReasonQueueFull, ReasonLimit, ReasonTenantCap, ReasonStage, ReasonDeadline} {
			if would[why] != 1 {
				t.Errorf("%d would have been shed for %v, want 1", would[why], why)
			}
		}
		if would[ReasonQueueTimeout] != 2 {
			t.Errorf("%d would have expired, want 2", would[ReasonQueueTimeout])
		}
		if l.Inflight != 1 || l.Overrun != len(running)-1 {
			t.Errorf("inflight %d, overrun %d, want 1 and the other %d", l.Inflight, l.Overrun, len(running)-1)
		}
		for why, n := range told {
			if n != 1 {
				t.Errorf("told %d times of reason %v", n, why)
			}
		}
		for _, ticket := range running {
			ticket.Release(Success)
			ticket.Release(Failure)
		}
		if stage.entered != stage.exited {
			t.Errorf("%d entered, %d exited", stage.entered, stage.exited)
		}
	})
}

// In shadow the loop sees what it would see: the gate's ratio moves, and what
// it would shed is counted.
func TestShadowGateIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Pinned(10, 2)
		cfg.Mode = Shadow
		two := regulators.Func(func(context.Context) (float64, error) { return 2, nil })
		c := NewQuiet(t, cfg, WithSignal("two", two))
		var wg sync.WaitGroup
		arrivals(&wg, 200, 5*time.Second, func(i int) {
			if err := work(context.Background(), c, Request{Priority: NewPriority(T5, i)}, time.Millisecond); err != nil {
				t.Errorf("shed in shadow: %v", err)
			}
		})
		wg.Wait()
		l := only(t, c)
		t.Logf("ratio %.3f, %d would have been shed", l.ShedRatio, l.Tiers[T5].Shadow[ReasonPriority])
		if l.ShedRatio < 0.9 || l.Tiers[T5].Shadow[ReasonPriority] < 500 || l.Tiers[T5].Outcomes[Success] != 1000 {
			t.Errorf("ratio %v, %d would have been shed, %d served; want most, most, and all",
				l.ShedRatio, l.Tiers[T5].Shadow[ReasonPriority], l.Tiers[T5].Outcomes[Success])
		}
	})
}

// Ghosts that stand in the queue when shadow ends neither lose a slot nor
// outlive their release.
func TestShadowEndsWhileGhostsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Pinned(1, 5)
		cfg.Mode = Shadow
		c := NewQuiet(t, cfg)
		var ghosts []Ticket
		for range 4 {
			ghosts = append(ghosts, hold(t, c, Request{Op: "runs"}))
			ticket, err := c.Admit(t.Context(), Request{})
			if err != nil {
				t.Fatal(err)
			}
			ghosts = append(ghosts, ticket)
		}
		if err := c.Apply(Pinned(1, 5)); err != nil {
			t.Fatal(err)
		}
		solid := enqueue(t.Context(), c, Request{})
		synctest.Wait()
		for _, ghost := range ghosts {
			ghost.Release(Success)
			synctest.Wait()
		}
		if got := <-solid; got.err != nil || got.took != 0 {
			t.Errorf("%v after %v, want a slot once the ghosts are gone", got.err, got.took)
		} else {
			got.ticket.Release(Success)
		}
	})
}
