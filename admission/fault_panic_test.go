package admission

import (
	"context"
	"net/http"
	"runtime"
	"testing"
	"testing/synctest"
)

// B06: a panic, or whatever else ends the work abnormally, keeps its slot.
// Three slots, a thousand such ends: it is counted as a failure, once, and the
// panic's value arrives outside unchanged.
func TestAbnormalEndGivesTheSlotBack(t *testing.T) {
	const times = 1000
	for _, tc := range []struct {
		name string
		work func(context.Context) error
		want func(v any) bool
	}{
		{"a value", func(context.Context) error { panic("x") }, func(v any) bool { return v == "x" }},
		{"ErrAbortHandler", func(context.Context) error { panic(http.ErrAbortHandler) }, func(v any) bool { return v == http.ErrAbortHandler }},
		{"a nil map", func(context.Context) error { nilMap["x"] = 1; return nil }, isRuntimeError},
		{"nil", func(context.Context) error { panic(nil) }, func(v any) bool { _, ok := v.(*runtime.PanicNilError); return ok }},
		{"Goexit", func(context.Context) error { runtime.Goexit(); return nil }, func(v any) bool { return v == nil }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := NewQuiet(t, Pinned(3, 10))
				for range times {
					outside := make(chan any, 1)
					returned := false
					go func() {
						defer func() { outside <- recover() }()
						_ = c.Do(context.Background(), Request{}, tc.work)
						returned = true
					}()
					if v := <-outside; !tc.want(v) || returned {
						t.Fatalf("outside there is %v, returned %v", v, returned)
					}
				}
				l := only(t, c)
				if got := l.Tiers[T3].Outcomes; got[Failure] != times || got[Success]+got[Overload]+got[Ignore] != 0 {
					t.Errorf("outcomes %v, want %d failures and nothing else", got, times)
				}
				ValidateQuiet(t, c)
			})
		})
	}
}

var nilMap map[string]int

func isRuntimeError(v any) bool { _, ok := v.(runtime.Error); return ok }
