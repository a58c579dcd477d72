package admission

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// B12 (a): equal priorities are served in the order of their arrival while the
// queue is calm, or the oldest wait for ever.
func TestEqualPrioritiesAreServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewQuiet(t, Pinned(1, 100))
		const serving = 10 * time.Millisecond
		var mu sync.Mutex
		var served []int
		var wg sync.WaitGroup
		request := func(i int) {
			met := only(t, c)
			ahead := met.Inflight + met.Queued[T3]
			ticket, err := c.Admit(context.Background(), Request{})
			if err != nil {
				t.Errorf("%d: %v", i, err)
				return
			}
			if bound := time.Duration(ahead+1)*serving + 20*time.Millisecond; ticket.Waited() > bound {
				t.Errorf("%d waited %v behind %d, want at most %v", i, ticket.Waited(), ahead, bound)
			}
			mu.Lock()
			served = append(served, i)
			mu.Unlock()
			time.Sleep(serving)
			ticket.Release(Success)
		}
		for i := range 5 {
			wg.Go(func() { request(i) })
			synctest.Wait()
		}
		arrivals(&wg, 95, 10*time.Second, func(i int) { request(5 + i) })
		wg.Wait()
		if len(served) < 950 || !slices.IsSorted(served) {
			t.Errorf("%d served, in order: %v", len(served), slices.IsSorted(served))
		}
	})
}

// B12 (b): under a standing queue the newest go first, but everybody is told
// within his bound, and nothing is left in the queue.
func TestStandingQueueDrains(t *testing.T) {
	for _, law := range []string{"codel", "deadline", "tight"} {
		t.Run(law, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := LaneConfig{Limit: LimitConfig{Fixed: 1}, Gate: GateConfig{Law: "off"}}
				l.Queue.Capacity, l.Queue.Law = 100, law
				c := NewQuiet(t, Config{Lanes: map[string]LaneConfig{"default": l}})
				var wg sync.WaitGroup
				var lifo atomic.Bool
				arrivals(&wg, 200, 10*time.Second, func(int) {
					ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
					defer cancel()
					begin := time.Now()
					ticket, err := c.Admit(ctx, Request{})
					if took := time.Since(begin); took > 520*time.Millisecond {
						t.Errorf("told after %v, want within 520ms", took)
					}
					lifo.CompareAndSwap(false, only(t, c).QueueMode == "LIFO")
					if err == nil {
						time.Sleep(10 * time.Millisecond)
						ticket.Release(Success)
					}
				})
				time.Sleep(600 * time.Millisecond)
				if n := queued(t, c); n != 0 {
					t.Errorf("%d wait 600 ms after the last arrival", n)
				}
				wg.Wait()
				if !lifo.Load() {
					t.Error("the queue never became a standing one")
				}
				good := only(t, c).Tiers[T3].Outcomes[Success]
				t.Logf("%d served of 1,000", good)
				if good < 900 {
					t.Errorf("%d served in 10 s of a service of 100 a second", good)
				}
			})
		})
	}
}

// B33: whoever releases and comes back at once overtakes those who wait.
func TestNobodyOvertakesWaiters(t *testing.T) {
	for _, loopers := range []int{1, 4} {
		t.Run(strconv.Itoa(loopers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := NewQuiet(t, Pinned(1, 100))
				var mu sync.Mutex
				var served []string
				turn := func(op string) {
					ticket, err := c.Admit(context.Background(), Request{Op: op})
					if err != nil {
						t.Errorf("%s: %v", op, err)
						return
					}
					mu.Lock()
					served = append(served, op)
					mu.Unlock()
					time.Sleep(time.Millisecond)
					ticket.Release(Success)
				}
				var wg sync.WaitGroup
				for range loopers {
					wg.Go(func() {
						for range 10_000 / loopers {
							turn("loop")
						}
					})
				}
				time.Sleep(10500 * time.Microsecond)
				mu.Lock()
				from := len(served)
				mu.Unlock()
				for _, op := range []string{"b", "c", "d", "e"} {
					wg.Go(func() { turn(op) })
					synctest.Wait()
				}
				wg.Wait()
				at := func(op string) int { return slices.Index(served[from:], op) }
				if b := at("b"); b > loopers-1 {
					t.Errorf("%d turns of the loopers before b, want at most those that waited before it", b)
				}
				if b, c, d, e := at("b"), at("c"), at("d"), at("e"); b < 0 || b > c || c > d || d > e {
					t.Errorf("served at turns %d, %d, %d, %d, want them in order", b, c, d, e)
				}
			})
		})
	}
}
