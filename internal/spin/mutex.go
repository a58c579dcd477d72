package spin

import (
	"runtime"
	"sync"
)

const (
	tries  = 30 // looks at the lock before others may run: longer than it is held
	yields = 20 // turns of that before going to sleep: its owner's thread may stand still
)

// Mutex is a sync.Mutex whose Lock looks again for a few microseconds before it
// sleeps. The zero Mutex is unlocked. It must not be copied after first use.
type Mutex struct{ mu sync.Mutex }

// Lock locks m. It blocks until it has the lock; who comes first need not get it
// first, but nobody waits for long: after some microseconds he queues in the
// sync.Mutex, which sees to that.
func (m *Mutex) Lock() {
	if !m.mu.TryLock() {
		m.wait()
	}
}

func (m *Mutex) wait() {
	for range yields {
		for range tries {
			if m.mu.TryLock() {
				return
			}
		}
		runtime.Gosched()
	}
	m.mu.Lock()
}

// Unlock unlocks m, which must be locked, by whomever.
func (m *Mutex) Unlock() { m.mu.Unlock() }
