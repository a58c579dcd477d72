package admission

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Two lanes of one processor, where each request takes as long as there are
// others in either lane, and the load begins at once with three times what it
// can do. Neither lane may take the other's requests for the back end's nature,
// climb, and starve the other.
func TestLanesOfOneProcessor(t *testing.T) {
	const alone = 4 * time.Millisecond // 250/s
	synctest.Test(t, func(t *testing.T) {
		c := NewQuiet(t, Config{Lanes: map[string]LaneConfig{"read": {}, "write": {}}})
		rng := rand.New(rand.NewPCG(5, 5))
		var inside atomic.Int64
		var good [2]atomic.Int64
		var wg sync.WaitGroup
		for end := time.Now().Add(120 * time.Second); time.Now().Before(end); {
			time.Sleep(time.Duration(rng.ExpFloat64() / 750 * float64(time.Second)))
			i, lane := 0, "read"
			if rng.Float64() < 0.3 {
				i, lane = 1, "write"
			}
			work := alone/2 + time.Duration(rng.Int64N(int64(alone)))
			counts := time.Until(end) < 20*time.Second
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), 250*time.Millisecond)
				defer cancel()
				err := c.Do(ctx, Request{Lane: lane}, func(context.Context) error {
					inside.Add(1)
					defer inside.Add(-1)
					for range 4 { // the share of the processor changes on the way
						time.Sleep(work / 4 * time.Duration(inside.Load()))
					}
					return nil
				})
				if err == nil && ctx.Err() == nil && counts {
					good[i].Add(1)
				}
			})
		}
		wg.Wait()
		total := 0
		for _, name := range []string{"read", "write"} {
			l, _ := c.Stats().Lane(name)
			t.Logf("%s: limit %d, baseline %v, latency %v", name, l.Limit, l.Baseline, l.Latency)
			total += l.Limit
		}
		if total > 20 { // it is about 8, and 15 to 46 where they do not measure together
			t.Errorf("the lanes' limits are %d in all, for one processor", total)
		}
		read, write := good[0].Load(), good[1].Load()
		t.Logf("%d good reads, %d good writes, limits of %d in all", read, write, total)
		if read+write < 20*250*9/10 {
			t.Errorf("%d good answers in 20 s, of 5,000 that the processor can give", read+write)
		}
		if read < 400 || write < 400 {
			t.Errorf("one lane starves the other: %d good reads, %d good writes", read, write)
		}
	})
}
