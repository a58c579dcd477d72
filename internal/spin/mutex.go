package spin

import (
	"runtime"
	"sync"
)

// Pauses are in turns of an empty loop, of which a processor does one to four in a
// nanosecond.
const (
	firstPause = 512  // about as long as the lock is held
	longPause  = 4096 // as long as one processor takes for a dozen requests
	patience   = 16   // long pauses before going to sleep: its owner's thread may stand still
)

// Mutex is a sync.Mutex whose Lock looks again for some ten microseconds before it
// sleeps. The zero Mutex is unlocked. It must not be copied after first use.
type Mutex struct{ sync.Mutex }

// Lock locks m. It blocks until it has the lock; who comes first need not get it
// first, but nobody waits for long: after some microseconds he queues in the
// sync.Mutex, which sees to that.
func (m *Mutex) Lock() {
	if !m.TryLock() {
		m.wait()
	}
}

// wait looks at the lock ever more seldom. Each look takes its memory from the owner's
// processor, who then waits for it, and with the lock all that it guards moves from one
// processor to the other: better that each of them does a dozen requests in a row.
func (m *Mutex) wait() {
	pause := firstPause
	for left := patience; left > 0; {
		for range pause {
		}
		if m.TryLock() {
			return
		}
		if pause < longPause {
			pause *= 2
			continue
		}
		left--
		runtime.Gosched()
	}
	m.Mutex.Lock()
}
