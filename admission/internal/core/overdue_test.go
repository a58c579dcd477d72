package core

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/pid"
)

// rushing returns a lane that times one of so many calls, at its tick at zero.
func rushing(t *testing.T, cfg Config, stride int) (*Lane, *witness) {
	t.Helper()
	w := &witness{limit: 2000}
	cfg.Gate = pid.GateConfig{Law: "off"}
	l, err := New(cfg, w)
	if err != nil {
		t.Fatal(err)
	}
	l.Tick(0, 0.5)
	l.pace.rush, l.pace.stride = true, stride
	return l, w
}

func begin(t *testing.T, l *Lane, now time.Duration, c *Call) {
	t.Helper()
	c.Cost = 1
	if !l.Timed(c, true) {
		now = Untimed
	}
	if l.Arrive(now, c, 0.5, true) != Running {
		t.Fatal("no slot is free")
	}
}

// Of the calls that are past their deadline the law is shown the same share as of
// those that come out.
func TestOverdueIsSampledToo(t *testing.T) {
	const stride, late = 10, 1000
	l, w := rushing(t, Config{}, stride)
	for i := range late {
		now := time.Duration(i) * time.Microsecond
		begin(t, l, now, &Call{Deadline: 25 * time.Millisecond})
		for range 4 {
			c := new(Call)
			begin(t, l, now, c)
			l.Release(now, c, Success)
		}
	}
	l.Tick(TickPeriod, 0.5)
	if n := w.samples - w.overloads; w.overloads < n/8 || w.overloads > n/2 {
		t.Errorf("a fifth of the calls is overdue; the law saw %d and %d that came out", w.overloads, n)
	}
}

// Where nothing comes out at all it is shown all of them.
func TestStallOfUntimedCallsIsSeen(t *testing.T) {
	l, w := rushing(t, Config{}, 1000)
	for range 50 {
		begin(t, l, 0, &Call{Deadline: 75 * time.Millisecond})
	}
	l.Tick(TickPeriod, 0.5)
	if w.overloads > 0 {
		t.Errorf("%d of the calls are said to be late before their deadline", w.overloads)
	}
	l.Tick(2*TickPeriod, 0.5)
	if w.overloads != 50 {
		t.Errorf("the law saw %d of 50 calls that are overdue", w.overloads)
	}
}

// A call whose arrival was not timed may be younger than the lane has it.
func TestYoungUntimedCallIsNotOverdue(t *testing.T) {
	l, w := rushing(t, Config{Deadline: 25 * time.Millisecond}, 1000)
	l.pace.next() // the one that is timed
	for range 20 {
		begin(t, l, 49*time.Millisecond, new(Call))
	}
	l.Tick(TickPeriod, 0.5)
	if w.overloads > 0 {
		t.Errorf("%d calls of a millisecond are said to be 25 ms late", w.overloads)
	}
	l.Tick(3*TickPeriod, 0.5)
	if w.overloads != 20 {
		t.Errorf("the law saw %d of 20 calls that are overdue", w.overloads)
	}
}
