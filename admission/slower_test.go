package admission

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/internal/race"
)

// A back end that answers ten times slower, yet as many at once as before, must
// not bring a controller with all defaults to a limit of one for good.
func TestSlowerBackEndIsNotStarved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewQuiet(t, Config{})
		rng := rand.New(rand.NewPCG(1, 1))
		servers := make(chan struct{}, 40)
		var mean atomic.Int64
		var good atomic.Int64
		var wg sync.WaitGroup
		load := func(d time.Duration, rate float64) {
			for end := time.Now().Add(d); time.Now().Before(end); {
				time.Sleep(time.Duration(rng.ExpFloat64() / rate * float64(time.Second)))
				work := time.Duration(float64(mean.Load()) * (0.5 + rng.Float64()))
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
					defer cancel()
					if c.Do(ctx, Request{}, func(context.Context) error {
						servers <- struct{}{}
						time.Sleep(work)
						<-servers
						return nil
					}) == nil && ctx.Err() == nil {
						good.Add(1)
					}
				})
			}
			wg.Wait()
		}
		mean.Store(int64(20 * time.Millisecond)) // 2,000/s
		fast := 90 * time.Second
		if race.Enabled { // each request takes seven times as long
			fast = 20 * time.Second
		}
		load(fast, 2400)
		t.Logf("fast: %+v", only(t, c).Limit)
		mean.Store(int64(200 * time.Millisecond)) // 200/s
		for range 4 {
			load(30*time.Second, 400)
			l := only(t, c)
			t.Logf("slow: limit %d, %s, baseline %v, shed %v", l.Limit, l.LimitWhy, l.Baseline, l.ShedRatio)
		}
		good.Store(0)
		load(30*time.Second, 400)
		t.Logf("%d good of 6,000", good.Load())
		if got := good.Load(); got < 30*200*7/10 {
			t.Errorf("two minutes on, %d of the 6,000 requests that 40 servers could do in 30 s came out well; limit %d", got, only(t, c).Limit)
		}
	})
}
