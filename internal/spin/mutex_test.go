package spin

import (
	"sync"
	"testing"
)

// Many add to one number, which the race detector watches.
func TestOneAtATime(t *testing.T) {
	var (
		m    Mutex
		wg   sync.WaitGroup
		sum  int
		many = 64
		each = 500
	)
	for range many {
		wg.Go(func() {
			for range each {
				m.Lock()
				sum++
				m.Unlock()
			}
		})
	}
	wg.Wait()
	if sum != many*each {
		t.Errorf("sum is %d, want %d", sum, many*each)
	}
}

// Who finds the lock taken for good goes to sleep and is woken.
func TestSleepsWhileLocked(t *testing.T) {
	var m Mutex
	m.Lock()
	got := make(chan struct{})
	go func() {
		m.Lock()
		defer m.Unlock()
		close(got)
	}()
	select {
	case <-got:
		t.Fatal("locked twice")
	default:
	}
	m.Unlock()
	<-got
}
