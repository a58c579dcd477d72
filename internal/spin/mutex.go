package spin

import (
	"runtime"
	"sync"
)

// Pauses are in turns of an empty loop, of which a processor does one to four in a
// nanosecond.
const (
	firstPause = 2048  // as long as the lock is held for ten or twenty requests
	longPause  = 32768 // as long as one processor takes for two hundred requests
	patience   = 3     // long pauses before going to sleep: its owner's thread may stand still
)

// Mutex is a sync.Mutex whose Lock looks again for some twenty-five to a hundred
// microseconds before it sleeps. The zero Mutex is unlocked. It must not be copied after first use.
type Mutex struct{ sync.Mutex }

// Lock locks m. It blocks until it has the lock; who comes first need not get it
// first, but nobody waits for long: after that time he queues in the sync.Mutex,
// which sees to that.
func (m *Mutex) Lock() {
	if !m.TryLock() {
		m.wait()
	}
}

// wait looks at the lock a few times. Each look takes its memory from the owner's
// processor, who then waits for it, and with the lock all that it guards moves from one
// processor to the other: better that each of them does two hundred requests in a row.
// Only the first pause is short: most who find a lock taken that few want need no other.
func (m *Mutex) wait() {
	if m.tryAfter(firstPause) {
		return
	}
	for range patience {
		if m.tryAfter(longPause) {
			return
		}
		runtime.Gosched()
	}
	m.Mutex.Lock()
}

// tryAfter takes the lock if it is free after so many turns.
func (m *Mutex) tryAfter(turns int) bool {
	for range turns {
	}
	return m.TryLock()
}
