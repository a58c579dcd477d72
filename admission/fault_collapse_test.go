package admission

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// seconds counts what clients got, by the second in which they got it.
type seconds struct {
	sync.Mutex
	good, own, shed, all [41]int
}

func (s *seconds) count(at time.Duration, own, err error) {
	s.Lock()
	defer s.Unlock()
	i := min(int(at/time.Second), len(s.all)-1)
	s.all[i]++
	switch {
	case err == nil:
		s.good[i]++
	case errors.Is(err, own):
		s.own[i]++
	case errors.Is(err, ErrShed):
		s.shed[i]++
	}
}

func sum(n []int) (total int) {
	for _, k := range n {
		total += k
	}
	return total
}

// B05: a retry storm keeps everything refused after its cause has gone, and
// hides the error that began it.
func TestRetryStormEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Config{Lanes: map[string]LaneConfig{"default": {Limit: LimitConfig{Initial: 20}}}}
		l := cfg.Lanes["default"]
		l.Queue.Capacity = 100
		cfg.Lanes["default"] = l
		c := NewQuiet(t, cfg)

		const phase = 10 * time.Second
		begin, own := time.Now(), errors.New("E")
		serve := func(ctx context.Context) error {
			if at := time.Since(begin); at < phase || at >= 2*phase {
				time.Sleep(20 * time.Millisecond)
				return nil
			}
			select {
			case <-time.After(100 * time.Millisecond):
				return own
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		var got seconds
		var wg sync.WaitGroup
		for i := range 500 {
			wg.Go(func() {
				r := Request{Priority: NewPriority(T1, i)}
				time.Sleep(rand.N(time.Second))
				for time.Since(begin) < 4*phase {
					ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
					err := c.Do(ctx, r, serve)
					cancel()
					got.count(time.Since(begin), own, err)
					if err == nil {
						time.Sleep(time.Second)
					} else {
						time.Sleep(50 * time.Millisecond)
						r.Attempt++
						continue
					}
					r.Attempt = 0
				}
			})
		}
		wg.Wait()

		for second := 10; second < 20; second++ {
			if got.own[second] < 20 {
				t.Errorf("second %d: %d answers carry the handler's own error, want at least 20", second, got.own[second])
			}
		}
		before, after := sum(got.good[1:10])*10/9, sum(got.good[30:40])
		t.Logf("fewest own errors %d, good %d, then %d; refused %d of %d", slices.Min(got.own[10:20]), before, after, sum(got.shed[30:40]), sum(got.all[30:40]))
		if after < before*95/100 {
			t.Errorf("%d good answers in the last 10 s, %d in the first: want at least 95 %%", after, before)
		}
		if refused, all := sum(got.shed[30:40]), sum(got.all[30:40]); refused*100 >= all {
			t.Errorf("%d of %d still refused long after the cause has gone", refused, all)
		}
		tier := only(t, c).Tiers[T1]
		if n := uint64(sum(got.own[:])); tier.Outcomes[Failure] != n || shed(only(t, c)) != uint64(sum(got.shed[:])) {
			t.Errorf("stats say %d failures and %d shed, clients saw %d and %d",
				tier.Outcomes[Failure], shed(only(t, c)), n, sum(got.shed[:]))
		}
		t.Log("good:", got.good[:40])
		t.Log("E:   ", got.own[:40])
		t.Log("shed:", got.shed[:40])
	})
}
