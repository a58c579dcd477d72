package admission

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/scorecard"
)

// Two tenants may have half of the limit each, and each has four requests in flight on
// average, half of where the limit begins. Their rule refuses three in ten before
// they could wait. Nothing is slow, so that must not keep the limit where it is.
func TestSharesLetTheLimitGrow(t *testing.T) {
	for name, tags := range map[string][]scorecard.Tag{"in the lane": nil, "before it": {{Key: "zone", Value: "a"}}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := NewQuiet(t, Config{Scorecard: ScorecardConfig{Rules: []scorecard.Rule{
					{Name: "each tenant", Match: "tenant:*", Cap: scorecard.Cap{Share: 0.5}},
				}}})
				rng := rand.New(rand.NewPCG(1, 1))
				var refused atomic.Int64
				var wg sync.WaitGroup
				for begin := time.Now(); time.Since(begin) < 20*time.Second; {
					time.Sleep(time.Duration(rng.ExpFloat64() / 400 * float64(time.Second)))
					r := Request{Tenant: []string{"acme", "zed"}[rng.IntN(2)], Tags: tags}
					took, late := 15*time.Millisecond+time.Duration(rng.Int64N(int64(10*time.Millisecond))), time.Since(begin) > 10*time.Second
					wg.Go(func() {
						if err := work(context.Background(), c, r, took); err != nil && late {
							refused.Add(1)
						}
					})
				}
				wg.Wait()
				t.Logf("limit %d, %d refused", only(t, c).Limit, refused.Load())
				if n := refused.Load(); n > 200 {
					t.Errorf("after 10 s still %d of some 4000 requests are refused, with a limit of %d", n, only(t, c).Limit)
				}
			})
		})
	}
}
