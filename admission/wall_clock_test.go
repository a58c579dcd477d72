package admission

import (
	"testing"
	"time"
	"unsafe"
)

// A deadline without a monotonic reading (parsed, or computed from a wall-clock
// time) is held against the wall clock as it is now, not as it was when the
// controller started.
func TestWallClockStepsWithWallClockDeadlines(t *testing.T) {
	for name, step := range map[string]int64{"back": -3600, "ahead": 3600, "not": 0} {
		t.Run(name, func(t *testing.T) {
			c := &Controller{start: time.Now()}
			// As if the wall clock was an hour off when the controller started and
			// was set right since: seconds are above 30 bits of nanoseconds.
			wall := (*uint64)(unsafe.Pointer(&c.start))
			*wall -= uint64(step << 30)
			for kind, deadline := range map[string]time.Time{
				"wall":      time.Now().Round(0).Add(time.Minute),
				"monotonic": time.Now().Add(time.Minute),
			} {
				now := c.now()
				if left := c.due(deadline, now) - now; left < 50*time.Second || left > 70*time.Second {
					t.Errorf("%s deadline a minute away: %v are left", kind, left)
				}
			}
		})
	}
}
