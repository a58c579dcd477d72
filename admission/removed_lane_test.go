package admission

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/regulators"
)

// A lane that is removed while a signal sheds in it drains and is forgotten.
func TestRemovedLaneIsForgottenThoughASignalShedThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p regulators.Value
		p.Set(2)
		with := Config{Lanes: map[string]LaneConfig{"default": {}, "write": {}}}
		c := NewQuiet(t, with, WithSignal("lag", &p))
		time.Sleep(5 * time.Second)
		if c.Stats().Signals[0].Ratio == 0 {
			t.Fatal("the signal does not shed")
		}
		if err := c.Apply(Config{}); err != nil {
			t.Fatal(err)
		}
		p.Set(0)
		time.Sleep(5 * time.Minute)
		if l, ok := c.Stats().Lane("write"); ok {
			t.Errorf("five minutes after it was removed the lane is still there, shed ratio %v by %q", l.ShedRatio, l.Binding)
		}
	})
}
