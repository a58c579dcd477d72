package admission

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
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

type panicsInLimit struct {
	panickyLimit
	now bool
}

func (l *panicsInLimit) Limit() int {
	if l.now {
		l.now = false
		panic("limit")
	}
	return 2
}

// Nor must one that panics when a config is put into force.
func TestPanickingLimitInApply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := new(panicsInLimit)
		c := NewQuiet(t, Config{}, WithLimit("", l))
		synctest.Wait()
		func() {
			defer func() {
				if recover() == nil {
					t.Error("Apply did not panic")
				}
			}()
			l.now = true
			_ = c.Apply(Config{})
		}()
		var free atomic.Bool
		go func() { c.Stats(); free.Store(true) }()
		for i := 0; i < 1_000_000 && !free.Load(); i++ {
			runtime.Gosched() // who waits for a lock keeps the bubble's time from going on
		}
		if !free.Load() {
			t.Error("the lane is locked for ever")
			c.lane().mu.Unlock()
		}
	})
}
