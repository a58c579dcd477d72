package admission

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Each request is told once: to Admit, with the priority in force and its wait, or
// to Shed; one that left or is exempt to nobody.
func TestHooksAreToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var admitted []Admission
		var refused []Refusal
		cfg := Pinned(1, 1)
		cfg.Priorities.Callers = map[string]Priority{"checkout": NewPriority(T1, 9)}
		c := NewQuiet(t, cfg, WithHooks(Hooks{
			Admit: func(_ context.Context, a Admission) { admitted = append(admitted, a) },
			Shed:  func(_ context.Context, r Refusal) { refused = append(refused, r) },
		}))
		ctx := t.Context()
		first := hold(t, c, Request{Caller: "checkout"})
		waiting := enqueue(ctx, c, Request{Priority: NewPriority(T2, 3)})
		synctest.Wait()
		_, err := c.Admit(ctx, Request{Priority: NewPriority(T4, 5)})
		wantShed(t, err, ReasonQueueFull)
		if _, err := c.Admit(ctx, Request{Priority: Exempt}); err != nil {
			t.Error(err)
		}
		left, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := c.Admit(left, Request{}); err == nil {
			t.Error("a caller who had left was admitted")
		}
		time.Sleep(time.Second)
		first.Release(Success)
		(<-waiting).ticket.Release(Success)

		if len(admitted) != 2 || admitted[0] != (Admission{"default", NewPriority(T1, 9), 0}) ||
			admitted[1] != (Admission{"default", NewPriority(T2, 3), time.Second}) {
			t.Errorf("admitted: %+v", admitted)
		}
		if len(refused) != 1 || refused[0].Priority != NewPriority(T4, 5) || refused[0].Shadow {
			t.Errorf("refused: %+v", refused)
		}
		cfg.Mode = Shadow
		if err := c.Apply(cfg); err != nil {
			t.Fatal(err)
		}
		runs, would := hold(t, c, Request{}), hold(t, c, Request{})
		runs.Release(Success)
		would.Release(Success)
		if len(admitted) != 3 || len(refused) != 2 || !refused[1].Shadow {
			t.Errorf("in shadow admitted: %+v, refused: %+v", admitted, refused)
		}
	})
}

// A hook that panics keeps no slot, and the others on the way neither.
func TestPanickingAdmitHook(t *testing.T) {
	c := NewQuiet(t, Pinned(1, 1), WithHooks(Hooks{Admit: func(_ context.Context, a Admission) {
		if a.Priority.Tier() == T5 {
			panic("hook")
		}
	}}))
	for range 3 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was lost")
				}
			}()
			_, _ = c.Admit(t.Context(), Request{Priority: T5.Priority()})
		}()
	}
	hold(t, c, Request{}).Release(Success)
}

// A hook for waits is called for those that waited as long, and one for less than
// none is refused.
func TestMinWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waits []time.Duration
		c := NewQuiet(t, Pinned(1, 1), WithHooks(Hooks{
			MinWait: time.Second,
			Admit:   func(_ context.Context, a Admission) { waits = append(waits, a.Waited) },
		}))
		held := hold(t, c, Request{})
		for _, d := range []time.Duration{time.Second - 1, time.Second, time.Second + 1} {
			next := enqueue(t.Context(), c, Request{})
			time.Sleep(d)
			held.Release(Success)
			held = (<-next).ticket
		}
		held.Release(Success)
		if len(waits) != 2 || waits[0] != time.Second || waits[1] != time.Second+1 {
			t.Errorf("told of waits %v", waits)
		}
	})
	if _, err := New(Config{}, WithHooks(Hooks{MinWait: -1})); err == nil || err.Error() != "admission: hooks: MinWait is -1ns: must not be negative" {
		t.Errorf("error is %v", err)
	}
}
