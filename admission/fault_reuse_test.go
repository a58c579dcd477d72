package admission

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/internal/race"
)

// B34 (a): what is pooled is still used by its former owner. Ten seconds of
// requests that come, leave, and release twice from two goroutines; the race
// detector is the judge, without it two seconds tell as much.
func TestReuseUnderRace(t *testing.T) {
	t.Parallel()
	long := 2 * time.Second
	if race.Enabled && !testing.Short() {
		long = 10 * time.Second
	}
	var mu sync.Mutex
	owners := map[string]int{}
	stage := &stageFuncs{name: "owner", enter: func(r *Request) error {
		mu.Lock()
		defer mu.Unlock()
		owners[r.Tenant]++
		return nil
	}, exit: func(r *Request, _ Outcome) {
		mu.Lock()
		defer mu.Unlock()
		owners[r.Tenant]--
	}}
	c := NewQuiet(t, tenantCap(Pinned(8, 16), 4), WithStages(stage))
	var wg sync.WaitGroup
	end := time.Now().Add(long)
	for i := range 32 {
		r := Request{Tenant: strconv.Itoa(i % 7), Priority: NewPriority(Tier(i%6), i)}
		wg.Go(func() {
			for time.Now().Before(end) {
				ctx, cancel := context.WithTimeout(context.Background(), rand.N(2*time.Millisecond))
				ticket, err := c.Admit(ctx, r)
				if err == nil {
					time.Sleep(rand.N(time.Millisecond))
					twice := ticket
					wg.Go(func() { twice.Release(Failure) })
					ticket.Release(Success)
					_ = ticket.Waited()
				} else if ticket != (Ticket{}) {
					t.Error("both a ticket and an error")
				}
				cancel()
			}
		})
	}
	wg.Wait()
	for tenant, n := range owners {
		if n != 0 {
			t.Errorf("tenant %s left a stage %d times less than it entered: another's request was seen", tenant, n)
		}
	}
}

// B34 (b): a ticket that is released again frees the slot of whoever has it now.
func TestStaleReleaseFreesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewQuiet(t, Pinned(1, 1))
		a := hold(t, c, Request{Tenant: "a"})
		copied := a
		a.Release(Success)
		b := hold(t, c, Request{Tenant: "b"})
		a.Release(Success)
		copied.Release(Overload)
		_, err := c.TryAdmit(t.Context(), Request{Tenant: "c"})
		wantShed(t, err, ReasonLimit)
		b.Release(Success)
		if out := only(t, c).Tiers[T3].Outcomes; out[Success] != 2 || out[Overload] != 0 {
			t.Errorf("outcomes %v, want two successes", out)
		}
	})
}

// B34 (c): what a ticket says stays what it said.
func TestTicketKeepsItsOwnWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewQuiet(t, Pinned(1, 1))
		first := hold(t, c, Request{})
		waiter := enqueue(t.Context(), c, Request{})
		time.Sleep(time.Second)
		first.Release(Success)
		second := (<-waiter).ticket
		second.Release(Success)
		third := hold(t, c, Request{})
		if second.Waited() != time.Second || first.Waited() != 0 || third.Waited() != 0 {
			t.Errorf("waited %v, %v, %v, want 0, 1s, 0", first.Waited(), second.Waited(), third.Waited())
		}
		third.Release(Outcome(99)) // unknown: counts as Ignore
		if n := only(t, c).Tiers[T3].Outcomes[Ignore]; n != 1 {
			t.Errorf("%d ignored, want 1", n)
		}
	})
}
