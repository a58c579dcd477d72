package admission

import (
	"testing"
	"testing/synctest"
	"time"
)

// With learned costs the scans that run beside point reads take the slots of their
// time; a cost that a request names stands, and guards count what it takes.
func TestLearnedCosts(t *testing.T) {
	for _, most := range []int{0, 10} {
		synctest.Test(t, func(t *testing.T) {
			cfg := Pinned(100, 10)
			l := cfg.Lanes["default"]
			l.MaxCost = most
			cfg.Lanes["default"] = l
			cfg.Regulators = map[string]RegulatorConfig{"till": {Counts: "cost"}}
			g := newTill(1000)
			c := NewQuiet(t, cfg, WithGuard("till", g))
			for range 50 {
				for range 10 {
					_ = work(t.Context(), c, Request{Op: "get"}, 2*time.Millisecond)
				}
				_ = work(t.Context(), c, Request{Op: "scan"}, 14*time.Millisecond)
			}
			time.Sleep(time.Second)
			for _, tc := range []struct {
				r    Request
				cost int
			}{{Request{Op: "get"}, 1}, {Request{Op: "scan"}, 7}, {Request{Op: "scan", Cost: 2}, 2}, {Request{Op: "new"}, 1}} {
				if most == 0 && tc.r.Cost == 0 {
					tc.cost = 1
				}
				ticket := hold(t, c, tc.r)
				if got, held := only(t, c).Inflight, g.holds()[""]; got < tc.cost-1 || got > tc.cost+1 || tc.cost < 3 && got != tc.cost || held != int64(got) {
					t.Errorf("max cost %d: %+v takes %d slots, the guard counts %d, want %d", most, tc.r, got, held, tc.cost)
				}
				ticket.Release(Success)
			}
		})
	}
	for _, most := range []int{-1, 1001} {
		if err := (Config{Lanes: map[string]LaneConfig{"default": {MaxCost: most}}}).Validate(); err == nil {
			t.Errorf("max cost %d passes", most)
		}
	}
}
