package admission

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// A cost near MaxInt must not wrap the sum that is held against the limit.
func TestHugeCostKeepsTheLimit(t *testing.T) {
	for _, tt := range []struct {
		name  string
		costs []int
	}{
		{"huge first", []int{math.MaxInt, 1, 1, 1, 1, 1}},
		{"huge second", []int{1, math.MaxInt, 1, 1, 1, 1, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := NewQuiet(t, Pinned(2, 5))
			var tickets []Ticket
			for _, cost := range tt.costs {
				if ticket, err := c.TryAdmit(context.Background(), Request{Cost: cost}); err == nil {
					tickets = append(tickets, ticket)
				}
			}
			if n := only(t, c).Inflight; n < 0 {
				t.Errorf("inflight is %d", n)
			}
			if len(tickets) > 2 {
				t.Errorf("%d requests run at once, the limit is 2", len(tickets))
			}
			for _, ticket := range tickets {
				ticket.Release(Success)
			}
		})
	}
}

// Nor drown the measure of how the slots are used: the limit's law and the gate
// go by its differences.
func TestHugeCostLeavesTheMeasureOfUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewQuiet(t, Config{Lanes: map[string]LaneConfig{"default": {Limit: LimitConfig{Fixed: 2}}}})
		big := hold(t, c, Request{Cost: math.MaxInt})
		time.Sleep(time.Second)
		big.Release(Success)
		for range 1000 {
			ticket := hold(t, c, Request{})
			time.Sleep(10 * time.Millisecond)
			ticket.Release(Success)
		}
		t.Logf("throughput %.1f/s", only(t, c).Throughput)
		if got := only(t, c).Throughput; got < 150 || got > 250 {
			t.Errorf("two slots of 100/s each let through %.1f/s, it says", got)
		}
	})
}
