package promadmission_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/promadmission"
	"github.com/spillway-go/spillway/scorecard"
)

func perTenant(n int) admission.ScorecardConfig {
	return admission.ScorecardConfig{
		MaxTenants: 100_000,
		Rules: []scorecard.Rule{
			{Name: "each", Match: "tenant:*", Cap: scorecard.Cap{N: n}},
			{Name: "one", Match: "op:report", Cap: scorecard.Cap{N: 1000}},
		},
	}
}

// ask sends n requests of a tenant, all of which a cap of 0 refuses.
func ask(tb testing.TB, c *admission.Controller, tenant string, n int) {
	tb.Helper()
	for range n {
		if _, err := c.Admit(tb.Context(), admission.Request{Tenant: tenant}); err == nil {
			tb.Fatal("admitted over a cap of 0")
		}
	}
}

// Those refused most are shown by name and all others as one, whose count never
// falls whoever comes and goes; over any time, what the shown series rose by and
// what the others did is what the rule refused.
func TestTopTenants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, admission.Config{Scorecard: perTenant(0)})
		reg := prometheus.NewPedanticRegistry()
		register(t, reg, c, promadmission.WithTopTenants(2))
		rejections := func() map[string]float64 { return series(scrape(t, reg)["tenant_rejections_total"]) }
		check := func(when string, want map[string]float64) {
			t.Helper()
			if got := rejections(); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: %v, want %v", when, got, want)
			}
		}
		check("at the start", map[string]float64{"rule=each tenant=_other": 0})
		ask(t, c, "a", 10)
		ask(t, c, "b", 8)
		ask(t, c, "c", 5)
		// What they did before they were shown is with the others.
		check("first", map[string]float64{"rule=each tenant=a": 10, "rule=each tenant=b": 8, "rule=each tenant=_other": 23})
		ask(t, c, "a", 3)
		ask(t, c, "c", 1)
		check("c grows unseen", map[string]float64{"rule=each tenant=a": 13, "rule=each tenant=b": 8, "rule=each tenant=_other": 24})
		ask(t, c, "c", 6)
		check("c comes in for b", map[string]float64{"rule=each tenant=a": 13, "rule=each tenant=c": 12, "rule=each tenant=_other": 30})
		ask(t, c, "c", 2)
		check("and is seen to grow", map[string]float64{"rule=each tenant=a": 13, "rule=each tenant=c": 14, "rule=each tenant=_other": 30})
		time.Sleep(10 * time.Second)
		ask(t, c, "d", 1)
		time.Sleep(10 * time.Second) // idle ones are forgotten
		if got := rejections()["rule=each tenant=_other"]; got != 31 {
			t.Errorf("when all were forgotten the others are at %v, want 31", got)
		}
	})
}

// No name a caller gives himself spoils a scrape.
func TestHostileTenants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, admission.Config{Scorecard: perTenant(0)})
		reg := prometheus.NewPedanticRegistry()
		register(t, reg, c, promadmission.WithTopTenants(promadmission.MaxTenants))
		long := strings.Repeat("x", 64)
		for i, name := range []string{"", "_other", "(other)", "a\xff", "a\xfe", long + "1", long + "2", "\"}\n# EOF", strings.Repeat("ü", 60)} {
			ask(t, c, name, 20-i)
		}
		got := series(scrape(t, reg)["tenant_rejections_total"])
		for _, name := range []string{"(none)", "_other", "a\uFFFD", long, "\"}\n# EOF"} {
			if _, ok := got["rule=each tenant="+name]; !ok {
				t.Errorf("%q is not shown", name)
			}
		}
		if len(got) != 6 {
			t.Errorf("shown are %v", got)
		}
	})
}

// However many tenants there are, and all of them refused, the scrape stays small.
func TestManyTenants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where they do not become idle while they come
		reg := manyTenants(t)
		n := 0
		for _, f := range scrape(t, reg) {
			n += len(f.Metric)
			if h := f.Metric[0].Histogram; h != nil {
				n += len(f.Metric) * (len(h.Bucket) + 2) // +Inf and sum; the count is in already
			}
		}
		if shown := series(scrape(t, reg)["tenant_rejections_total"]); len(shown) != promadmission.MaxTenants+1 {
			t.Errorf("%d tenants are shown", len(shown))
		}
		if n >= 200 { // of them 34 for tenants, 10 for rules
			t.Errorf("%d series", n)
		}
	})
}

// manyTenants are 100,000 of a controller, of whom each was refused once.
func manyTenants(tb testing.TB) prometheus.Gatherer {
	c := start(tb, admission.Config{Scorecard: perTenant(0)})
	reg := prometheus.NewRegistry()
	register(tb, reg, c, promadmission.WithTopTenants(promadmission.MaxTenants))
	for i := range 100_000 {
		ask(tb, c, fmt.Sprint("tenant-", i), 1)
	}
	return reg
}

// Those who scrape at once, as two servers for safety do, do not spoil each other's
// numbers: of what only shown tenants were refused nothing is with the others.
func TestTwoScrapeAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where nobody becomes idle
		cfg := admission.Config{Scorecard: perTenant(0)}
		cfg.Scorecard.MaxTenants = 10
		c := start(t, cfg)
		reg := prometheus.NewRegistry()
		register(t, reg, c, promadmission.WithTopTenants(2))
		const before = 1000
		ask(t, c, "a", before)
		scrape(t, reg) // he is shown from here on
		var wg sync.WaitGroup
		var done atomic.Int32
		for range 4 {
			wg.Go(func() {
				defer done.Add(1)
				for range 100 {
					if got := series(scrape(t, reg)["tenant_rejections_total"])["rule=each tenant=_other"]; got != before {
						t.Errorf("the others are at %v, want %d", got, before)
						return
					}
				}
			})
		}
		for done.Load() < 4 {
			ask(t, c, "a", 1)
		}
		wg.Wait()
	})
}

// What a scrape of many tenants takes.
func BenchmarkManyTenants(b *testing.B) {
	reg := manyTenants(b)
	for b.Loop() {
		scrape(b, reg)
	}
}
