package admission

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/admission/internal/core"
	"github.com/spillway-go/spillway/internal/race"
)

// B01: a slot given to a waiter at about the moment its wait ends is lost.
// 20,000 such moments, on a hundred controllers side by side; fewer under the
// race detector, which makes them slow. The times are five times those of the
// report, since timers that are good for a millisecond only would all fall on
// one side.
func TestGrantRacesTimeout(t *testing.T) {
	const controllers = 100
	rounds := 200
	if race.Enabled {
		rounds = 50
	}
	cfg := Pinned(1, 10)
	t.Run("fifo", func(t *testing.T) {
		var granted, refused atomic.Int64
		var wg sync.WaitGroup
		for range controllers {
			c := NewQuiet(t, cfg)
			wg.Go(func() {
				for range rounds {
					holder, err := c.TryAdmit(context.Background(), Request{})
					if err != nil {
						t.Errorf("the slot is missing: %v", err)
						return
					}
					raceOnce(t, c, holder, &granted, &refused)
				}
			})
		}
		wg.Wait()
		t.Logf("%d granted, %d not", granted.Load(), refused.Load())
		if !race.Enabled && (granted.Load() == 0 || refused.Load() == 0) {
			t.Error("no race: the wait always ended in the same way")
		}
	})
	t.Run("lifo", func(t *testing.T) {
		l := cfg.Lanes["default"]
		l.Queue.Target, l.Queue.Interval = raceDeadline, raceDeadline+raceDeadline/20
		var granted, refused, lifo atomic.Int64
		var wg sync.WaitGroup
		for range controllers {
			c := NewQuiet(t, Config{Lanes: map[string]LaneConfig{"default": l}})
			stop := make(chan struct{})
			for range 2 { // they keep the queue standing
				wg.Go(func() { insist(c, stop) })
			}
			wg.Go(func() {
				defer close(stop)
				for range rounds {
					holder, err := c.Admit(context.Background(), Request{})
					if err != nil {
						continue // expired behind those two
					}
					raceOnce(t, c, holder, &granted, &refused)
					if only(t, c).QueueMode == "LIFO" {
						lifo.Add(1)
					}
				}
			})
		}
		wg.Wait()
		t.Logf("%d granted, %d not; %d times in lifo order", granted.Load(), refused.Load(), lifo.Load())
		if !race.Enabled && (granted.Load() == 0 || refused.Load() == 0 || lifo.Load() == 0) {
			t.Error("no race in lifo order")
		}
	})
}

const raceDeadline = 10 * time.Millisecond

// raceOnce has a holder release at about the deadline of a waiter.
func raceOnce(t *testing.T, c *Controller, holder Ticket, granted, refused *atomic.Int64) {
	// Two timers of the same kind, set at the same moment.
	released := make(chan struct{})
	time.AfterFunc(raceDeadline*9/10+rand.N(raceDeadline/5), func() {
		holder.Release(Ignore) // no sample: or so little time left would be dead on arrival
		close(released)
	})
	ctx, cancel := context.WithTimeout(context.Background(), raceDeadline)
	defer cancel()
	waiter := enqueue(ctx, c, Request{})
	<-released
	switch got := <-waiter; {
	case got.err == nil:
		granted.Add(1)
		got.ticket.Release(Ignore)
	case got.ticket != Ticket{}:
		t.Errorf("both a ticket and %v", got.err)
	default:
		refused.Add(1)
	}
}

// insist asks for a slot again and again.
func insist(c *Controller, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		if t, err := c.Admit(context.Background(), Request{}); err == nil {
			t.Release(Ignore)
			time.Sleep(raceDeadline / 2)
		}
	}
}

// B01 in fixed order: the waiter is picked, then its caller cancels, then it is
// told. The slot must go to the next one.
func TestGrantMeetsDepartedCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewQuiet(t, Pinned(1, 10))
		l := c.lane()
		holder := core.Call{Cost: 1}
		l.mu.Lock()
		l.mu.core.Offer(0, 0, false)
		l.mu.core.Arrive(c.now(), &holder, 0, true)
		l.mu.Unlock()

		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		first := enqueue(ctx, c, Request{})
		synctest.Wait()
		next := enqueue(t.Context(), c, Request{})
		synctest.Wait()

		l.mu.Lock()
		l.mu.core.Release(c.now(), &holder, core.Success)
		picked := l.mu.core.Settled()
		l.mu.Unlock()
		cancel(gone)
		synctest.Wait()
		tell(picked)

		if got := <-first; !errors.Is(got.err, gone) {
			t.Errorf("err = %v, want the caller's own cause", got.err)
		}
		got := <-next
		if got.err != nil {
			t.Fatalf("the slot did not go to the next one: %v", got.err)
		}
		got.ticket.Release(Success)
		if left := only(t, c).Tiers[T3].Left; left != 1 {
			t.Errorf("%d left, want 1", left)
		}
	})
}
