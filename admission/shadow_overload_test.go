package admission

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// In front of a pool whose callers leave at their deadlines, shadow tells at twice the
// capacity about what Enforce sheds, though it keeps nobody from the pool, and the
// limit does not sink for that.
func TestShadowInOverload(t *testing.T) {
	refused := map[Mode]float64{}
	for _, mode := range []Mode{Shadow, Enforce} {
		synctest.Test(t, func(t *testing.T) {
			c := NewQuiet(t, Config{Mode: mode})
			rng := rand.New(rand.NewPCG(1, 1))
			servers := make(chan struct{}, 20) // 200/s
			var wg sync.WaitGroup
			ask := func(service time.Duration) {
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				_ = c.Do(ctx, Request{}, func(ctx context.Context) error {
					select {
					case servers <- struct{}{}:
					case <-ctx.Done():
						return ctx.Err()
					}
					time.Sleep(service)
					<-servers
					return ctx.Err()
				})
			}
			limit := 0
			wg.Go(func() {
				time.Sleep(time.Minute / 2)
				limit = medianLimit(t, c, time.Minute/2)
			})
			for end := time.Now().Add(time.Minute); time.Now().Before(end); {
				time.Sleep(time.Duration(rng.ExpFloat64() / 400 * float64(time.Second)))
				service := time.Duration((0.5 + rng.Float64()) * float64(100*time.Millisecond))
				wg.Go(func() { ask(service) })
			}
			l := only(t, c)
			wg.Wait()
			for _, tier := range l.Tiers {
				for why := range tier.Shed {
					refused[mode] += float64(tier.Shed[why]+tier.Shadow[why]) / float64(l.Tiers[T3].Arrived)
				}
			}
			t.Logf("%v: median limit %d, ratio %.2f, refused %.3f", mode, limit, l.ShedRatio, refused[mode])
			if mode == Shadow && limit < 4 || mode == Enforce && (limit < 20 || limit > 45) {
				t.Errorf("%v: the median limit is %d", mode, limit)
			}
		})
	}
	if refused[Shadow] < 0.35 || refused[Shadow] > 0.7 || refused[Enforce] > 0.55 {
		t.Errorf("refused at twice the capacity: %v; want about half in both", refused)
	}
}
