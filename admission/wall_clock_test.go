package admission

import (
	"context"
	"testing"
	"time"
	"unsafe"
)

// A deadline without a monotonic reading (parsed, or computed from a wall-clock
// time) is held against the wall clock as it is now, not as it was when the
// controller started.
func TestWallClockStepsWithWallClockDeadlines(t *testing.T) {
	for name, step := range map[string]int64{"back": -3600, "ahead": 3600} {
		t.Run(name, func(t *testing.T) {
			c := NewQuiet(t, Pinned(2, 5))
			// As if the wall clock was an hour off when the controller started and
			// was set right since: seconds are above 30 bits of nanoseconds.
			wall := (*uint64)(unsafe.Pointer(&c.start))
			*wall -= uint64(step << 30)
			ctx, cancel := context.WithDeadline(context.Background(), time.Now().Round(0).Add(time.Minute))
			defer cancel()
			ticket, err := c.TryAdmit(ctx, Request{})
			if err != nil {
				t.Fatalf("a minute before its deadline: %v", err)
			}
			if due, now := ticket.e.call.Deadline, c.now(); due < now || due > now+2*time.Minute {
				t.Errorf("the lane takes the deadline to be %v away, it is a minute", due-now)
			}
			ticket.Release(Success)
		})
	}
}
