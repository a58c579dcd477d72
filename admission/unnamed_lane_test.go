package admission

import "testing"

// The lane "" is "default", its queue's capacity included.
func TestUnnamedLaneKeepsItsCapacity(t *testing.T) {
	lane := LaneConfig{Limit: LimitConfig{Fixed: 2}}
	lane.Queue.Capacity = 7
	c := NewQuiet(t, Config{Lanes: map[string]LaneConfig{"": lane}})
	if n := c.Config().Lanes["default"].Queue.Capacity; n != 7 {
		t.Errorf("the config in force has a capacity of %d, want 7", n)
	}
	if n := only(t, c).QueueCapacity; n != 7 {
		t.Errorf("the queue has a capacity of %d, want 7", n)
	}
}
