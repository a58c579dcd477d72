package admission

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// On a lane that is nearly idle a quick request is not dead on arrival only
// because most others of the lane, of another kind, are slow.
func TestQuickRequestsAmongSlowOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewQuiet(t, Config{})
		do := func(timeout, took time.Duration) error {
			ctx, cancel := context.WithTimeout(context.Background(), timeout)
			defer cancel()
			return c.Do(ctx, Request{}, func(context.Context) error { time.Sleep(took); return nil })
		}
		refused := 0
		for range 200 {
			for range 2 {
				_ = do(10*time.Second, 500*time.Millisecond) // reports
			}
			if do(300*time.Millisecond, 5*time.Millisecond) != nil {
				refused++
			}
		}
		if refused > 0 {
			t.Errorf("%d of 200 quick requests were shed by a lane with one request at a time", refused)
		}
	})
}
