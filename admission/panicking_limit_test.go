package admission

import (
	"context"
	"testing"
	"time"

	"github.com/spillway-go/spillway/pid"
)

type panickyLimit struct{ armed bool }

func (*panickyLimit) Limit() int { return 2 }
func (l *panickyLimit) Observe(pid.Sample) {
	if l.armed {
		l.armed = false
		panic("limit")
	}
}
func (*panickyLimit) Tick(time.Duration, pid.Usage) {}

// A limit law that panics must not leave the lane locked.
func TestPanickingLimitLeavesTheLaneUsable(t *testing.T) {
	l := &panickyLimit{armed: true}
	c, err := New(Config{}, WithLimit("", l))
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() { _ = recover() }()
		hold(t, c, Request{}).Release(Success)
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 2 {
			if ticket, err := c.Admit(context.Background(), Request{}); err != nil {
				t.Error(err)
			} else {
				defer ticket.Release(Success)
			}
		}
	}()
	select {
	case <-done:
		c.Close()
	case <-time.After(time.Minute):
		t.Error("the lane is locked for ever")
	}
}
