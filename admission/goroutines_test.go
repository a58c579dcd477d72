package admission

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
)

// Who waits does so on his caller's goroutine: a hundred waiters, with deadlines, are a
// hundred callers and nothing else.
func TestWaitersHaveNoGoroutineOfOurs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const callers = 100
		c := NewQuiet(t, Pinned(1, callers))
		holder := hold(t, c, Request{})
		ctx, leave := context.WithTimeout(t.Context(), 1<<40)
		defer leave()
		synctest.Wait()
		before := runtime.NumGoroutine()
		var waiters []<-chan answer
		for range callers {
			waiters = append(waiters, enqueue(ctx, c, Request{}))
		}
		synctest.Wait()
		if l := only(t, c); l.Queued[T3] != callers {
			t.Fatalf("%d wait, want %d", l.Queued[T3], callers)
		}
		if n := Goroutines(before + callers); n > before+callers {
			t.Errorf("%d goroutines more, want %d, the callers", n-before, callers)
		}
		leave()
		for _, w := range waiters {
			<-w
		}
		holder.Release(Success)
	})
}
