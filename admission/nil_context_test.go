package admission

import (
	"context"
	"testing"
)

// A nil context is an error, in every mode the same; nothing is lost.
func TestNilContext(t *testing.T) {
	for _, mode := range []Mode{Enforce, Shadow} {
		c := NewQuiet(t, Config{Mode: mode})
		func() {
			defer func() {
				if v := recover(); v != nil {
					t.Errorf("%v: panicked: %v", mode, v)
				}
			}()
			var none context.Context
			if _, err := c.Admit(none, Request{}); err == nil {
				t.Errorf("%v: no error", mode)
			}
		}()
	}
}
