package admission

import (
	"testing"
	"time"
)

// No request can meet a deadline of a nanosecond; whoever writes one means
// something else (a bare number in a file).
func TestAbsurdDeadlineIsRefused(t *testing.T) {
	for _, d := range []time.Duration{1, 250, 999 * time.Microsecond} {
		if (Config{Lanes: map[string]LaneConfig{"default": {Deadline: d}}}).Validate() == nil {
			t.Errorf("a lane's deadline of %v passes", d)
		}
	}
}
