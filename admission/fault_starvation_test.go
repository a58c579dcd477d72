package admission

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// class is an open-loop stream of one tier and what became of it.
type class struct {
	tier Tier
	rate int

	sync.Mutex
	asked, served    int
	granted, refused []time.Duration
}

func (k *class) run(c *Controller, begin time.Time, d time.Duration) {
	var wg sync.WaitGroup
	arrivals(&wg, k.rate, d, func(i int) {
		err := c.Do(context.Background(), Request{Priority: NewPriority(k.tier, i*37)}, func(context.Context) error {
			k.Lock()
			k.granted = append(k.granted, time.Since(begin))
			k.Unlock()
			time.Sleep(100 * time.Millisecond)
			return nil
		})
		k.Lock()
		defer k.Unlock()
		k.asked++
		if err == nil {
			k.served++
		} else {
			k.refused = append(k.refused, time.Since(begin))
		}
	})
	wg.Wait()
}

// B25: either a low tier keeps its share when a high one is refused, or it
// never runs again. The order is strict: there is no minimum share.
func TestTiersUnderOverload(t *testing.T) {
	run := func(t *testing.T, t0Rate int, check func(t0, t3, alone *class)) {
		synctest.Test(t, func(t *testing.T) {
			c := NewQuiet(t, Config{Lanes: map[string]LaneConfig{"default": {Limit: LimitConfig{Fixed: 10}}}})
			begin := time.Now()
			t0, t3, alone := &class{tier: T0, rate: t0Rate}, &class{tier: T3, rate: 50}, &class{tier: T3, rate: 50}
			var wg sync.WaitGroup
			wg.Go(func() { t0.run(c, begin, time.Minute) })
			wg.Go(func() { t3.run(c, begin, time.Minute) })
			wg.Wait()
			time.Sleep(time.Until(begin.Add(65 * time.Second))) // five seconds after t0 has stopped
			alone.run(c, begin, 10*time.Second)
			t.Logf("t0: %d of %d; t3: %d of %d, then alone %d of %d",
				t0.served, t0.asked, t3.served, t3.asked, alone.served, alone.asked)
			check(t0, t3, alone)
			if alone.served*100 < alone.asked*95 {
				t.Errorf("alone %d of %d t3 served, want 95 %%", alone.served, alone.asked)
			}
		})
	}
	t.Run("t0 fits", func(t *testing.T) {
		run(t, 90, func(t0, t3, alone *class) {
			if t0.served*100 < t0.asked*99 {
				t.Errorf("%d of %d t0 served, want 99 %%", t0.served, t0.asked)
			}
			if t3.served < 60*5 {
				t.Errorf("%d t3 served in a minute, want at least 5 of the 10 a second left over", t3.served)
			}
		})
	})
	t.Run("t0 alone is too much", func(t *testing.T) {
		run(t, 200, func(t0, t3, alone *class) {
			if t0.served < 60*95 {
				t.Errorf("%d t0 served in a minute, want at least 95 a second", t0.served)
			}
			for _, g := range t3.granted {
				for _, r := range t0.refused {
					if r <= g && g-r < time.Second {
						t.Fatalf("t3 was let in at %v, t0 refused at %v", g, r)
					}
				}
			}
		})
	})
}
