package httpmw_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/httpmw"
)

// asked is what became of some requests.
type asked struct {
	all, good int
	took      []time.Duration // of those not shed
}

func (a *asked) p99() time.Duration {
	slices.Sort(a.took)
	return a.took[len(a.took)*99/100]
}

// askForRows has a server whose back end takes 40 requests at a time, for 100 ms each, asked for six tenths of
// that, spread over a thousand rows; and if hot as often again for one row more.
func askForRows(t *testing.T, seed uint64, guarded, hot bool) (others, hottest asked) {
	const (
		slots, service = 40, 100 * time.Millisecond
		rate           = 0.6 * slots / 0.1
		settled, end   = time.Second, 4 * time.Second // what comes in between counts
		patience       = time.Second
	)
	synctest.Test(t, func(t *testing.T) {
		cfg := only(admission.LaneConfig{Limit: admission.LimitConfig{Fixed: slots}})
		if guarded {
			cfg.Regulators = map[string]admission.RegulatorConfig{"hot-row": {Kind: "hot-key", Limit: 0.1, Floor: slots / 2}}
		}
		wrap := httpmw.New(control(t, cfg), httpmw.Config{
			Classify: func(r *http.Request) admission.Request { return admission.Request{Key: r.URL.Path} },
		})
		conns := make(chan struct{}, slots)
		_, client := serveInBubble(t, wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			conns <- struct{}{}
			time.Sleep(service)
			<-conns
		})), false)
		var clients sync.WaitGroup
		var mu sync.Mutex
		start := time.Now()
		ask := func(to *asked, row string) {
			due := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://test/"+row, nil)
			code := 0
			if resp, err := client.Do(req); err == nil {
				code, _ = resp.StatusCode, resp.Body.Close()
			}
			mu.Lock()
			defer mu.Unlock()
			if due.Sub(start) < settled {
				return
			}
			to.all++
			if code == http.StatusOK {
				to.good++
			}
			if code < 400 {
				to.took = append(to.took, time.Since(due))
			}
		}
		offer := func(to *asked, stream uint64, row func(*rand.Rand) string) {
			r := rand.New(rand.NewPCG(seed, stream))
			for time.Since(start) < end {
				time.Sleep(time.Duration(r.ExpFloat64() / rate * float64(time.Second)))
				name := row(r)
				clients.Go(func() { ask(to, name) })
			}
		}
		clients.Go(func() { offer(&others, 1, func(r *rand.Rand) string { return strconv.Itoa(r.IntN(1000)) }) })
		if hot {
			clients.Go(func() { offer(&hottest, 2, func(*rand.Rand) string { return "hot" }) })
		}
		clients.Wait()
	})
	return others, hottest
}

// One row at half of the traffic, far above its share, costs the others neither goodput nor time. The example guards
// measures the same on real connections; here it is in virtual time, without a machine's noise.
func TestHotKeyHarmsNobodyElse(t *testing.T) {
	const seed = 1
	without, _ := askForRows(t, seed, true, false)
	for name, guarded := range map[string]bool{"guarded": true, "unguarded": false} {
		with, hot := askForRows(t, seed, guarded, true)
		goodput := float64(with.good) / float64(with.all) / (float64(without.good) / float64(without.all))
		p99 := float64(with.p99()) / float64(without.p99())
		t.Logf("%s: %.3f times the others' goodput, %.3f times their p99 of %v; the hot row had %d of %d", name, goodput, p99, without.p99(), hot.good, hot.all)
		if harm := goodput < 0.97 || p99 > 1.2; harm == guarded {
			t.Errorf("%s: harm to the others is %v", name, harm)
		}
		if guarded && (hot.good == 0 || hot.good*5 > hot.all) {
			t.Errorf("the hot row had %d of %d, want some and far from all", hot.good, hot.all)
		}
	}
}
