package admission

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestWaiterIsGrantedOnRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewQuiet(t, Pinned(1, 10))
		first, err := c.Admit(t.Context(), Request{})
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan Ticket)
		go func() {
			second, err := c.Admit(context.Background(), Request{})
			if err != nil {
				t.Error(err)
			}
			got <- second
		}()
		time.Sleep(3 * time.Second)
		first.Release(Success)
		second := <-got
		if second.Waited() != 3*time.Second {
			t.Errorf("waited %v, want 3s", second.Waited())
		}
		second.Release(Success)
		second.Release(Success)
	})
}

func TestWaiterLeavesWithItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewQuiet(t, Pinned(1, 10))
		held, _ := c.Admit(t.Context(), Request{})
		defer held.Release(Success)
		gone := errors.New("the user closed the tab")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(gone) })
		_, err := c.Admit(ctx, Request{})
		if !errors.Is(err, gone) || errors.Is(err, ErrShed) {
			t.Errorf("err = %v, want the caller's own cause", err)
		}
	})
}

func TestEveryReasonIsAShedError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewQuiet(t, Pinned(1, 1))
		held, _ := c.Admit(t.Context(), Request{})
		defer held.Release(Success)
		past, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer cancel()
		check := func(err error, want Reason) {
			t.Helper()
			var shed *ShedError
			if !errors.As(err, &shed) || !errors.Is(err, ErrShed) || shed.Reason != want {
				t.Errorf("err = %v, want reason %v", err, want)
			}
		}
		_, err := c.Admit(past, Request{})
		check(err, ReasonDeadline)
		_, err = c.TryAdmit(t.Context(), Request{})
		check(err, ReasonLimit)
		errs := make(chan error, 2)
		admit := func(tier Tier) {
			_, err := c.Admit(t.Context(), Request{Priority: NewPriority(tier, 0)})
			errs <- err
		}
		go admit(T3)
		synctest.Wait()
		go admit(T1)
		check(<-errs, ReasonEvicted)
		_, err = c.Admit(t.Context(), Request{Priority: NewPriority(T5, 0)})
		check(err, ReasonQueueFull)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		check(<-errs, ReasonClosed)
		_, err = c.Admit(t.Context(), Request{})
		check(err, ReasonClosed)
		if !errors.Is(err, ErrClosed) {
			t.Errorf("err = %v, want ErrClosed", err)
		}
	})
}
