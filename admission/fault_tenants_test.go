package admission

import (
	"context"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spillway-go/spillway/internal/race"
	"github.com/spillway-go/spillway/scorecard"
)

// B16: a caller who makes up a tenant for each request meets the limit all the
// same, leaves nothing behind, and takes nothing from a tenant who is there.
func TestB16MadeUpTenants(t *testing.T) {
	const slots, tenantCap, table, callers = 50, 10, 1000, 100
	requests := 1_000_000
	if race.Enabled {
		requests = 100_000
	}
	cfg := Pinned(slots, callers)
	cfg.Scorecard = ScorecardConfig{
		Rules:      []scorecard.Rule{{Name: "tenant", Match: "tenant:*", Cap: scorecard.Cap{N: tenantCap}}},
		MaxTenants: table,
	}
	c := NewQuiet(t, cfg)
	take := func(tenant string, n int) (taken []Ticket) {
		t.Helper()
		for range n {
			taken = append(taken, hold(t, c, Request{Tenant: tenant}))
		}
		return taken
	}
	full := func(tenant string) {
		t.Helper()
		_, err := c.TryAdmit(t.Context(), Request{Tenant: tenant})
		wantShed(t, err, ReasonTenantCap)
	}
	give := func(tickets []Ticket) {
		for _, ticket := range tickets {
			ticket.Release(Success)
		}
	}
	live := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}

	acme := take("acme", tenantCap/2)
	before := live()
	var next, running, most, done atomic.Int64
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(requests); i = next.Add(1) {
				_ = c.Do(context.Background(), Request{Tenant: "made-up-" + strconv.FormatInt(i, 10)}, func(context.Context) error {
					if n := running.Add(1); n > most.Load() {
						most.Store(n)
					}
					runtime.Gosched()
					running.Add(-1)
					done.Add(1)
					return nil
				})
			}
		})
	}
	wg.Wait()
	long := strings.Repeat("x", 64<<10)
	for i := range 1000 {
		_ = c.Do(t.Context(), Request{Tenant: long + strconv.Itoa(i)}, quick)
	}
	grown := live() - before
	known := c.Stats().Rules[0].Distinct
	t.Logf("%d of %d served, %d at once, %d known, heap grew by %d bytes", done.Load(), requests, most.Load(), known, grown)
	if grown > 50<<20 || known > table || most.Load() > slots || done.Load() == 0 {
		t.Errorf("want at most 50 MB, %d known, %d at once", table, slots)
	}
	if n := only(t, c).Inflight; n != len(acme) {
		t.Errorf("%d inflight, of acme %d", n, len(acme))
	}
	acme = append(acme, take("acme", tenantCap-len(acme))...)
	full("acme")
	give(acme)

	none := take("", tenantCap) // "" is a tenant like any other
	full("")
	give(none)

	// Names are bytes: who varies the case or adds spaces is another tenant, with
	// acme's cap or the one that all share whom the table has no room for.
	acme = take("acme", tenantCap)
	for _, name := range []string{"Acme", "ACME", "acme ", " acme", "acme\x00"} {
		hold(t, c, Request{Tenant: name}).Release(Success)
	}
	full("acme")
	give(acme)
}
