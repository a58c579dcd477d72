package admission

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"
)

// only is the snapshot of the lane "default".
func only(tb testing.TB, c *Controller) LaneStats {
	tb.Helper()
	l, ok := c.Stats().Lane("")
	if !ok {
		tb.Fatal("there is no default lane")
	}
	return l
}

// queued is how many wait in the lane "default".
func queued(tb testing.TB, c *Controller) (n int) {
	tb.Helper()
	for _, q := range only(tb, c).Queued {
		n += q
	}
	return n
}

// shed is how many requests of a lane were shed, over all tiers and reasons.
func shed(l LaneStats) (n uint64) {
	for t := range l.Tiers {
		for _, s := range l.Tiers[t].Shed {
			n += s
		}
	}
	return n
}

func wantShed(tb testing.TB, err error, want Reason) {
	tb.Helper()
	if why, ok := ReasonOf(err); !ok || why != want || !errors.Is(err, ErrShed) {
		tb.Errorf("err = %v, want shed with reason %v", err, want)
	}
}

// hold admits a request that is sure to find a slot.
func hold(tb testing.TB, c *Controller, r Request) Ticket {
	tb.Helper()
	t, err := c.TryAdmit(context.Background(), r)
	if err != nil {
		tb.Fatalf("no free slot: %v", err)
	}
	return t
}

// answer is what became of a request.
type answer struct {
	name   string
	ticket Ticket
	err    error
	took   time.Duration
}

// enqueue asks for a slot on a goroutine of its own.
func enqueue(ctx context.Context, c *Controller, r Request) <-chan answer {
	got := make(chan answer, 1)
	go func() {
		begin := time.Now()
		t, err := c.Admit(ctx, r)
		got <- answer{r.Op, t, err, time.Since(begin)}
	}()
	return got
}

// arrivals calls one at a steady rate, open loop, each call on a goroutine of
// its own, and returns when the last has come; wg tells when all are back.
func arrivals(wg *sync.WaitGroup, rate int, d time.Duration, one func(i int)) {
	begin, gap := time.Now(), time.Second/time.Duration(rate)
	for i := range int(d / gap) {
		time.Sleep(time.Until(begin.Add(time.Duration(i) * gap)))
		wg.Go(func() { one(i) })
	}
}

// work holds a slot for d and gives it back; it tells how the asking ended.
func work(ctx context.Context, c *Controller, r Request, d time.Duration) error {
	t, err := c.Admit(ctx, r)
	if err != nil {
		return err
	}
	time.Sleep(d)
	t.Release(Success)
	return nil
}

// medianLimit looks at the limit of the lane "default" four times a second for d. A
// single look may fall into a probe, which halves it.
func medianLimit(tb testing.TB, c *Controller, d time.Duration) int {
	tb.Helper()
	var limits []int
	for range d / window {
		time.Sleep(window)
		limits = append(limits, only(tb, c).Limit)
	}
	slices.Sort(limits)
	return limits[len(limits)/2]
}

// lane returns the shell of the lane "default".
func (c *Controller) lane() *lane { return c.plan.Load().def }
