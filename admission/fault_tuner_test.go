package admission

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// tuned is a config of one lane whose limit finds itself.
func tuned(limit LimitConfig) Config {
	return Config{Lanes: map[string]LaneConfig{"default": {Limit: limit}}}
}

// callers ask over and over, n at a time, until stop is closed. Whoever is
// refused comes back after 10 ms.
func callers(wg *sync.WaitGroup, c *Controller, n int, stop <-chan struct{}, fn func(context.Context) error) {
	for range n {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, refused := ReasonOf(c.Do(context.Background(), Request{}, fn)); refused {
					time.Sleep(10 * time.Millisecond)
				}
			}
		})
	}
}

// window is the octave law's, for service times of up to 100 ms.
const window = 250 * time.Millisecond

// B09: the limit is learned from successes alone and freezes, high, when
// everything fails, just when it had to fall. It must also leave the floor.
func TestB09LimitMovesWhenEverythingIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewQuiet(t, tuned(LimitConfig{Min: 5, Max: 100, Initial: 50}))
		begin := time.Now()
		overloaded := func() bool { return time.Since(begin) < 30*window }
		stop := make(chan struct{})
		var wg sync.WaitGroup
		callers(&wg, c, 200, stop, func(context.Context) error {
			if overloaded() {
				time.Sleep(100 * time.Millisecond)
				return context.DeadlineExceeded
			}
			time.Sleep(5 * time.Millisecond)
			return nil
		})
		fell, rose := 0, 0 // in which window
		for i := 1; i <= 90; i++ {
			time.Sleep(window)
			l := only(t, c)
			if fell == 0 && l.Limit == 5 {
				fell = i
			}
			if i > 30 && rose == 0 && l.Limit >= 40 {
				rose = i - 30
			}
			if l.Limit < 5 || l.Limit > 100 {
				t.Errorf("window %d: limit %d is out of bounds", i, l.Limit)
			}
		}
		close(stop)
		wg.Wait()
		if fell == 0 || fell > 10 {
			t.Errorf("all fail: at the floor in window %d, want by 10", fell)
		}
		if rose == 0 {
			t.Errorf("all succeed: limit %d after 60 windows and never 40 (%s)", only(t, c).Limit, only(t, c).LimitWhy)
		}
		t.Logf("at the floor in window %d, back at 40 in window %d", fell, rose)
	})
}

// B20: on a quiet service health checks that nobody exempted are a third of
// what a window holds. Their tiny service times must not make real traffic
// look overloaded when it comes.
func TestB20FewAndFastHealthChecksDoNotCutTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewQuiet(t, tuned(LimitConfig{Initial: 50}))
		ctx := context.Background()
		one := func(d time.Duration) {
			if err := work(ctx, c, Request{}, d); err != nil {
				t.Errorf("refused: %v", err)
			}
		}
		least := 1000
		watch := func(d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
				l := only(t, c)
				least = min(least, l.Limit)
				if l.Limit < 45 || l.Baseline > 0 && l.Baseline < 50*time.Millisecond {
					t.Fatalf("limit %d, baseline %v: %s", l.Limit, l.Baseline, l.LimitWhy)
				}
			}
		}
		var wg sync.WaitGroup
		wg.Go(func() { arrivals(&wg, 2, 5*time.Minute, func(int) { one(100 * time.Millisecond) }) })
		wg.Go(func() { arrivals(&wg, 1, 5*time.Minute, func(int) { one(200 * time.Microsecond) }) })
		watch(5 * time.Minute)
		wg.Wait()
		end := time.Now().Add(time.Minute)
		for range 50 {
			wg.Go(func() {
				for time.Now().Before(end) {
					one(100 * time.Millisecond)
				}
			})
		}
		watch(time.Minute)
		wg.Wait()
		t.Logf("lowest limit %d, baseline %v", least, only(t, c).Baseline)
		if got := only(t, c).Baseline; got < 90*time.Millisecond || got > 110*time.Millisecond {
			t.Errorf("baseline is %v after a minute of 100 ms", got)
		}
	})
}

// B36: hardly any traffic: two or three failures say nothing, and a limit cut
// for them would feed on itself.
func TestB36FewFailuresRefuseNobody(t *testing.T) {
	ctx := context.Background()
	one := func(t *testing.T, c *Controller, d time.Duration, err error) {
		if why, refused := ReasonOf(c.Do(ctx, Request{}, func(context.Context) error { time.Sleep(d); return err })); refused {
			t.Errorf("refused: %v", why)
		}
	}
	for name, run := range map[string]func(t *testing.T, c *Controller, wg *sync.WaitGroup){
		"first second": func(t *testing.T, c *Controller, wg *sync.WaitGroup) {
			for i := range 3 {
				wg.Go(func() {
					if i == 2 {
						one(t, c, 10*time.Millisecond, nil)
					} else {
						one(t, c, 500*time.Millisecond, context.DeadlineExceeded)
					}
				})
			}
			time.Sleep(time.Second)
			for range 10 {
				wg.Go(func() { one(t, c, 10*time.Millisecond, nil) })
			}
		},
		"every second one": func(t *testing.T, c *Controller, _ *sync.WaitGroup) {
			for i := range 600 {
				one(t, c, 100*time.Millisecond, []error{context.DeadlineExceeded, nil}[i%2])
				time.Sleep(900 * time.Millisecond)
			}
		},
		"one of 5 s": func(t *testing.T, c *Controller, wg *sync.WaitGroup) {
			one(t, c, 5*time.Second, nil)
			for range 20 {
				wg.Go(func() { one(t, c, 10*time.Millisecond, nil) })
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := NewQuiet(t, Config{})
				var wg sync.WaitGroup
				run(t, c, &wg)
				wg.Wait()
				if l := only(t, c); l.Limit != 8 {
					t.Errorf("limit went from 8 to %d: %s", l.Limit, l.LimitWhy)
				}
			})
		})
	}
}

// B32: callers who cancel are no overload, or a few of them could shrink the
// limit for all; how long they stayed is no service time. Deadlines that expire
// because the work is slow are overload. See httpmw for the same over HTTP.
func TestB32CallersWhoLeaveDoNotMoveTheLimit(t *testing.T) {
	const work = 20 * time.Millisecond
	run := func(t *testing.T, fn func(context.Context) error) (l LaneStats, limit int) {
		synctest.Test(t, func(t *testing.T) {
			c := NewQuiet(t, tuned(LimitConfig{Initial: 40}))
			stop := make(chan struct{})
			var wg sync.WaitGroup
			callers(&wg, c, 40, stop, fn)
			time.Sleep(30 * window)
			limit = medianLimit(t, c, 30*window)
			l = only(t, c)
			close(stop)
			wg.Wait()
		})
		return l, limit
	}
	var calls atomic.Int64
	_, whole := run(t, func(context.Context) error { time.Sleep(work); return nil })
	half, limit := run(t, func(context.Context) error {
		if calls.Add(1)%2 == 0 {
			time.Sleep(work / 4)
			return context.Canceled
		}
		time.Sleep(work)
		return nil
	})
	slow, starved := run(t, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		<-ctx.Done() // the work would take 500 ms
		return ctx.Err()
	})
	t.Logf("median limits: %d, %d where half cancel, %d where every deadline expires", whole, limit, starved)
	if 10*limit < 9*whole || 10*limit > 11*whole {
		t.Errorf("limit is %d where half cancel, %d where nobody does", limit, whole)
	}
	if half.Baseline < work*9/10 || half.Median < work*3/4 {
		t.Errorf("baseline %v, median %v: those who left after %v are in it", half.Baseline, half.Median, work/4)
	}
	tier := half.Tiers[T3]
	if tier.Outcomes[Ignore] == 0 || tier.Outcomes[Overload] != 0 {
		t.Errorf("cancelled ones are counted as %v", tier.Outcomes)
	}
	if starved >= 20 {
		t.Errorf("limit is %d where every deadline expires: %s", starved, slow.LimitWhy)
	}
}
