package admission

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// B22: a refused request is served all the same.
func TestRefusedWorkDoesNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewQuiet(t, Pinned(1, 1))
		calls := 0
		work := func(context.Context) error { calls++; return nil }
		holder := hold(t, c, Request{})
		waiter := enqueue(t.Context(), c, Request{Priority: NewPriority(T0, 0)})
		synctest.Wait()
		for range 100 {
			wantShed(t, c.Do(t.Context(), Request{}, work), ReasonQueueFull)
		}
		if calls != 0 {
			t.Errorf("%d refused requests ran", calls)
		}
		holder.Release(Success)
		(<-waiter).ticket.Release(Success)
		if err := c.Do(t.Context(), Request{}, work); err != nil || calls != 1 {
			t.Errorf("with a free slot: %v, %d calls", err, calls)
		}
	})
}

// B22: no controller and mode off admit everything, and neither counts nor
// breaks anything.
func TestNothingIsRefusedWhenOff(t *testing.T) {
	off := Pinned(1, 1)
	off.Mode = Off
	for name, c := range map[string]*Controller{"nil": nil, "off": NewQuiet(t, off)} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			for range 100 {
				ticket, err := c.Admit(t.Context(), Request{Lane: "nowhere", Cost: -1})
				if err != nil || ticket != (Ticket{}) {
					t.Fatalf("Admit: %v, %v", ticket, err)
				}
				defer ticket.Release(Success)
				if _, err := c.TryAdmit(t.Context(), Request{}); err != nil {
					t.Fatalf("TryAdmit: %v", err)
				}
				if err := c.Do(t.Context(), Request{}, func(context.Context) error { calls++; return nil }); err != nil {
					t.Fatalf("Do: %v", err)
				}
			}
			if calls != 100 {
				t.Errorf("%d of 100 ran", calls)
			}
			if s := c.Stats(); s.Mode != Off || c.Config().Mode != Off {
				t.Errorf("mode is %v", s.Mode)
			}
			if c.Untrusted(NewPriority(T4, 0)).Tier() != T4 {
				t.Error("a low priority was changed")
			}
		})
	}
	var none *Controller
	if err := none.Apply(Config{}); err == nil {
		t.Error("Apply on a nil Controller: want an error")
	}
	if err := none.Close(); err != nil {
		t.Error(err)
	}
}

// A mode that is switched while requests run neither loses nor makes slots.
func TestModeSwitchesWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewQuiet(t, Pinned(1, 5))
		var tickets []Ticket
		for _, mode := range []Mode{Enforce, Shadow, Off, Shadow, Enforce, Off, Enforce} {
			cfg := Pinned(1, 5)
			cfg.Mode = mode
			if err := c.Apply(cfg); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if ticket, err := c.TryAdmit(t.Context(), Request{}); err == nil {
					tickets = append(tickets, ticket)
				}
			}
		}
		time.Sleep(time.Second)
		if len(tickets) < 13 {
			t.Errorf("%d admitted, want at least the one slot and all in shadow and off", len(tickets))
		}
		for _, ticket := range tickets {
			ticket.Release(Success)
		}
	})
}
