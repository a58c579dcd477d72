package admission

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/race"
	"github.com/spillway-go/spillway/scorecard"
)

// crowd has a thousand goroutines try at once, round after round; those let in
// stay for a millisecond.
func crowd(rounds int, try func(i int) (Ticket, error), in, out func(i int)) {
	const size = 1000
	gates := make([]chan struct{}, rounds)
	for i := range gates {
		gates[i] = make(chan struct{})
	}
	var back, all sync.WaitGroup
	for i := range size {
		all.Go(func() {
			for _, gate := range gates {
				<-gate
				if ticket, err := try(i); err == nil {
					in(i)
					time.Sleep(time.Millisecond)
					out(i)
					ticket.Release(Success)
				}
				back.Done()
			}
		})
	}
	for _, gate := range gates {
		back.Add(size)
		close(gate)
		back.Wait()
	}
	all.Wait()
}

// peak counts holders and remembers the most there were.
type peak struct{ now, most atomic.Int64 }

func (p *peak) in() {
	n := p.now.Add(1)
	for m := p.most.Load(); n > m && !p.most.CompareAndSwap(m, n); m = p.most.Load() {
	}
}

func (p *peak) out() { p.now.Add(-1) }

// crowdRounds is a thousand, but for the race detector, which is slow here.
func crowdRounds() int {
	if race.Enabled {
		return 100
	}
	return 1000
}

// B18 (a): callers that arrive together all see room.
func TestNeverMoreThanTheLimit(t *testing.T) {
	c := NewQuiet(t, Pinned(10, 1))
	var all peak
	crowd(crowdRounds(), func(int) (Ticket, error) { return c.TryAdmit(context.Background(), Request{}) },
		func(int) { all.in() }, func(int) { all.out() })
	if all.most.Load() != 10 {
		t.Errorf("at most %d held a slot, want exactly 10", all.most.Load())
	}
}

// B18 (b): the same within each of twenty tenants.
func TestNeverMoreThanTheCap(t *testing.T) {
	cfg := Pinned(10, 1)
	cfg.Scorecard.Rules = []scorecard.Rule{{Name: "tenant", Match: "tenant:*", Cap: scorecard.Cap{N: 3}}}
	c := NewQuiet(t, cfg)
	var all peak
	var tenants [20]peak
	crowd(crowdRounds(), func(i int) (Ticket, error) {
		return c.TryAdmit(context.Background(), Request{Tenant: fmt.Sprint(i % len(tenants))})
	}, func(i int) {
		all.in()
		tenants[i%len(tenants)].in()
	}, func(i int) {
		tenants[i%len(tenants)].out()
		all.out()
	})
	if all.most.Load() != 10 {
		t.Errorf("at most %d held a slot, want exactly 10", all.most.Load())
	}
	for i := range tenants {
		if n := tenants[i].most.Load(); n > 3 {
			t.Errorf("tenant %d held %d slots, its cap is 3", i, n)
		}
	}
}

// B18 (c): while the limit moves, nobody is let in at a moment when all slots
// are taken, and a lowered limit takes no slot from who has one.
func TestNeverMoreThanAMovingLimit(t *testing.T) {
	c := NewQuiet(t, Pinned(10, 1))
	stop := make(chan struct{})
	var mover sync.WaitGroup
	mover.Go(func() {
		for limit := 5; ; limit = 15 - limit {
			if err := c.Apply(Pinned(limit, 1)); err != nil {
				t.Error(err)
			}
			// Nobody else moves it: what is above it can only become less.
			for begin, last := time.Now(), 1000; time.Since(begin) < 5*time.Millisecond; {
				l := only(t, c)
				if l.Limit != limit || l.Inflight > max(last, limit) {
					t.Errorf("limit %d of %d, inflight went from %d to %d", l.Limit, limit, last, l.Inflight)
				}
				last = l.Inflight
				time.Sleep(100 * time.Microsecond)
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	var all peak
	crowd(crowdRounds(), func(int) (Ticket, error) { return c.TryAdmit(context.Background(), Request{}) },
		func(int) { all.in() }, func(int) { all.out() })
	close(stop)
	mover.Wait()
	if n := all.most.Load(); n > 10 {
		t.Errorf("%d held a slot, the limit was never above 10", n)
	}
	if tier := only(t, c).Tiers[T3]; tier.Outcomes[Success] != tier.Admitted {
		t.Errorf("%d admitted, %d came to their end", tier.Admitted, tier.Outcomes[Success])
	}
}
