// Command signals shows the two ways in which a signal of one's own sheds: a backlog that
// speaks for the whole process sheds the least important requests, and bytes per
// tenant shed the one tenant who has too many. Run it: it drives itself for some
// seconds and prints what was shed.
package main

import (
	"context"
	"fmt"
	"log"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/regulators"
)

// writes is how many a second the store does.
const writes = 150

// store is something whose work piles up.
type store struct {
	backlog atomic.Int64

	mu    sync.Mutex
	bytes map[string]float64 // by tenant, since the last poll
	since time.Time
}

// lag is how many seconds the store is behind, over the one that it may be.
func (s *store) lag(context.Context) (float64, error) {
	return float64(s.backlog.Load()) / writes, nil
}

// Pressures is what each tenant has written a second, over the 100 kB that he may.
func (s *store) Pressures(context.Context) (map[string]float64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pressures, seconds := map[string]float64{}, max(time.Since(s.since).Seconds(), 0.1)
	for tenant, n := range s.bytes {
		pressures[tenant] = n / seconds / 100_000
	}
	clear(s.bytes)
	s.since = time.Now()
	return pressures, nil
}

// control has two signals and a guard act on the writes of a store.
func control(s *store) (*admission.Controller, error) {
	return admission.New(admission.Config{
		Regulators: map[string]admission.RegulatorConfig{
			"lag":        {Setpoint: 0.8, Period: 200 * time.Millisecond, KP: 1, KI: 0.2}, // it piles up
			"bytes":      {By: "tenant"},
			"goroutines": {Kind: "goroutines", Limit: 50_000},
		},
	},
		admission.WithSignal("lag", regulators.Func(s.lag)), // sheds the lowest priorities
		admission.WithKeyedSignal("bytes", s),               // sheds that tenant alone
	)
}

func main() {
	s := &store{bytes: map[string]float64{}, since: time.Now()}
	ctrl, err := control(s)
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		for range time.Tick(time.Second / writes) {
			if s.backlog.Load() > 0 {
				s.backlog.Add(-1)
			}
		}
	}()
	write := func(tenant string, tier admission.Tier, bytes int) error {
		return ctrl.Do(context.Background(), admission.Request{
			Tenant: tenant, Priority: tier.Priority(), Key: fmt.Sprint(time.Now().UnixNano()),
		}, func(context.Context) error {
			s.backlog.Add(1)
			s.mu.Lock()
			s.bytes[tenant] += float64(bytes)
			s.mu.Unlock()
			return nil
		})
	}
	asked, shed := map[string]int{}, map[string]int{}
	end := time.Now().Add(8 * time.Second)
	for i := 0; time.Now().Before(end); i++ {
		who, tier, bytes := "acme", admission.T1, 500 // some 90 a second of each
		switch i % 3 {
		case 1:
			tier = admission.T5
		case 2:
			who, bytes = "bulk", 5000
		}
		name := fmt.Sprint(who, " ", tier)
		asked[name]++
		if write(who, tier, bytes) != nil {
			shed[name]++
		}
		time.Sleep(time.Second / 300)
	}
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		fmt.Printf("%-8s %4d asked, %4d shed\n", name, asked[name], shed[name])
	}
	stats := ctrl.Stats()
	fmt.Printf("lag %.2f of %.2f, ratio %.2f; tenants pressed: %+v\n",
		stats.Signals[1].Pressure, stats.Signals[1].Setpoint, stats.Signals[1].Ratio, stats.Keyed[0].Top)
	if err := ctrl.Close(); err != nil {
		log.Fatal(err)
	}
}
