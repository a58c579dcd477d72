package admission

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Precheck sheds what is certain to be shed, counts it, and takes nothing.
func TestPrecheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []*ShedError
		cfg := Pinned(1, 1)
		c := NewQuiet(t, cfg, WithHooks(Hooks{Shed: func(_ context.Context, r Refusal) { told = append(told, r.Err) }}))
		pass := func(when string, ctx context.Context, r Request) {
			t.Helper()
			before := only(t, c)
			if err := c.Precheck(ctx, r); err != nil || only(t, c).Tiers != before.Tiers {
				t.Errorf("%s: %v", when, err)
			}
		}
		shed := func(when string, ctx context.Context, r Request, why Reason) {
			t.Helper()
			err := c.Precheck(ctx, r)
			wantShed(t, err, why)
			if last := told[len(told)-1]; err != last || last.Stage != "tap" || last.Lane != "default" {
				t.Errorf("%s: %v, told %v", when, err, last)
			}
		}
		past, cancel := context.WithTimeout(t.Context(), 0)
		defer cancel()
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		pass("calm", t.Context(), Request{})
		holder := hold(t, c, Request{})
		pass("the queue is empty", t.Context(), Request{})
		ctx, leave := context.WithCancel(t.Context())
		waiter := enqueue(ctx, c, Request{Priority: T1.Priority()})
		synctest.Wait()
		shed("the queue is full of better ones", t.Context(), Request{}, ReasonQueueFull)
		pass("a worse one would give way", t.Context(), Request{Priority: T0.Priority()})
		pass("exempt", t.Context(), Request{Priority: Exempt})
		pass("invalid, which is for Admit to say", t.Context(), Request{Lane: "nowhere"})
		pass("gone", past, Request{})
		if l := only(t, c); l.Inflight != 1 || l.Early != 1 || l.Tiers[T3].Shed[ReasonQueueFull] != 1 {
			t.Errorf("%+v", l)
		}
		c.lane().expected.Store(int64(2 * time.Second))
		shed("too little time left", soon, Request{}, ReasonDeadline)
		c.lane().expected.Store(0)
		shadow := cfg
		shadow.Mode = Shadow
		if err := c.Apply(shadow); err != nil {
			t.Fatal(err)
		}
		pass("in shadow", t.Context(), Request{})
		if err := c.Apply(cfg); err != nil {
			t.Fatal(err)
		}
		leave()
		<-waiter
		holder.Release(Ignore)
		pass("calm again", t.Context(), Request{})
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		shed("closed", t.Context(), Request{}, ReasonClosed)
		var none *Controller
		if err := none.Precheck(t.Context(), Request{}); err != nil {
			t.Error(err)
		}
	})
}
