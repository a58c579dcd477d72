package admission

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/regulators"
	"github.com/spillway-go/spillway/scorecard"
)

func quick(context.Context) error { return nil }

// B13: requests that an early step refused are counted down without having
// been counted up. Ten thousand refusals in each step before the lane, beside a
// hundred that run.
func TestRefusalsDoNotUnbalanceCounters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const refusals, running = 10_000, 100
		cfg := Pinned(200, 10)
		cfg.Scorecard.Rules = []scorecard.Rule{{Name: "none", Match: "tenant:capped", Cap: scorecard.Cap{N: 0}}}
		var pressure regulators.Value
		pressure.Set(0)
		regulator := stageFuncs{name: "regulator", enter: func(r *Request) error {
			if r.Op == "guarded" {
				return &ShedError{Reason: ReasonRegulator}
			}
			return nil
		}}
		c := NewQuiet(t, cfg, WithStages(&regulator), WithSignal("pressure", &pressure))

		var handlers atomic.Int64
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for range running {
			wg.Go(func() {
				for {
					_ = c.Do(context.Background(), Request{Priority: NewPriority(T0, 0)}, func(context.Context) error {
						handlers.Add(1)
						defer handlers.Add(-1)
						time.Sleep(7 * time.Millisecond)
						return nil
					})
					select {
					case <-stop:
						return
					case <-time.After(time.Millisecond): // also when it was shed
					}
				}
			})
		}
		batch := Request{Priority: NewPriority(T5, 0)}
		pressure.Set(1.5)
		arrivals(&wg, 10_000, 2*time.Second, func(int) { _ = c.Do(context.Background(), batch, quick) })
		pressure.Set(1)

		var shedBy [NumReasons]int
		for _, r := range []Request{
			{Tenant: "capped"}, {Op: "guarded"}, batch,
		} {
			for i := range refusals {
				err := c.Do(context.Background(), r, quick)
				if why, ok := ReasonOf(err); ok {
					shedBy[why]++
				} else {
					t.Fatalf("%d: %+v: %v", i, r, err)
				}
				if i%100 == 0 {
					time.Sleep(time.Millisecond)
					synctest.Wait()
					if l := only(t, c); l.Inflight != int(handlers.Load()) {
						t.Fatalf("inflight is %d, %d handlers run", l.Inflight, handlers.Load())
					}
				}
			}
		}
		close(stop)
		wg.Wait()
		for _, why := range []Reason{ReasonTenantCap, ReasonRegulator, ReasonPriority} {
			if shedBy[why] != refusals {
				t.Errorf("%d shed with reason %v, want %d", shedBy[why], why, refusals)
			}
		}
		if regulator.entered != regulator.exited {
			t.Errorf("%d entered, %d exited", regulator.entered, regulator.exited)
		}
		Ticket{}.Release(Success)
		ValidateQuiet(t, c)
	})
}
