package admission

import (
	"context"
	"testing"
)

type listError []string

func (listError) Error() string { return "list" }

// wrapError is of a comparable type, but a value of it need not be.
type wrapError struct{ inner error }

func (wrapError) Error() string { return "wrap" }

// Whatever error value a stage returns, the request is shed and all is given back.
func TestStageErrorThatCannotBeCompared(t *testing.T) {
	for name, refusal := range map[string]error{
		"comparable type, uncomparable value": wrapError{listError{"a"}},
		"nil *ShedError":                      (*ShedError)(nil),
	} {
		t.Run(name, func(t *testing.T) {
			exits := 0
			first := &stageFuncs{name: "first", exit: func(*Request, Outcome) { exits++ }}
			second := &stageFuncs{name: "second", enter: func(*Request) error { return refusal }}
			c := NewQuiet(t, tenantCap(Pinned(2, 5), 5), WithStages(first, second))
			for range 3 {
				func() {
					defer func() {
						if v := recover(); v != nil {
							t.Errorf("panicked: %v", v)
						}
					}()
					_, err := c.Admit(context.Background(), Request{Tenant: "a"})
					wantShed(t, err, ReasonStage)
				}()
			}
			if exits != 3 {
				t.Errorf("the first stage was left %d times, want 3", exits)
			}
			for _, r := range c.Stats().Rules {
				if r.Held != 0 {
					t.Errorf("rule %s holds %d requests, none runs", r.Rule, r.Held)
				}
			}
		})
	}
}
