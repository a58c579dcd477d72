package admissiontest

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/admission"
)

// Siege is what strangers do to a service while its own customers, of t1 and well within
// their share, go on to ask.
type Siege struct {
	Ctrl *admission.Controller
	End  time.Time // set by Stand

	asked, good atomic.Int64 // of the customers
}

// Stand has the siege last and judges it. The customers ask at a steady 80/s, open loop;
// ask tells whether it was served. The heap may grow by heapMost bytes, the strangers' own part
// included.
func (s *Siege) Stand(t testing.TB, heapMost int, ask func() bool, attack func()) {
	t.Helper()
	heap := func() int {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	runtime.GC()
	runtime.GC()
	before, peak := heap(), 0
	s.End = time.Now().Add(1500 * time.Millisecond)
	var all sync.WaitGroup
	all.Go(func() { s.customers(ask) })
	all.Go(attack)
	all.Go(func() {
		for time.Now().Before(s.End) {
			peak = max(peak, heap())
			time.Sleep(50 * time.Millisecond)
		}
	})
	all.Wait()
	s.judge(t)
	t.Logf("the heap grew by %d kB", (peak-before)>>10)
	if grown := peak - before; grown > heapMost {
		t.Errorf("the heap grew by %d bytes, want at most %d, the strangers' own part included", grown, heapMost)
	}
}

func (s *Siege) customers(ask func() bool) {
	every := time.NewTicker(time.Second / 80)
	defer every.Stop()
	var all sync.WaitGroup
	for now := time.Now(); now.Before(s.End); now = <-every.C {
		all.Go(func() {
			s.asked.Add(1)
			if ask() {
				s.good.Add(1)
			}
		})
	}
	all.Wait()
}

// judge: the customers were served, and nobody passed for one of them or for better.
func (s *Siege) judge(t testing.TB) {
	t.Helper()
	asked, good := s.asked.Load(), s.good.Load()
	t.Logf("customers: %d of %d; of all %+v", good, asked, Counts(s.Ctrl))
	least := int64(99)
	if asked < 110 { // of 120: the machine has no time for the customers themselves
		least = 75
	}
	if 100*good < least*asked {
		t.Errorf("%d of %d customers were served, want %d %%", good, asked, least)
	}
	l, _ := s.Ctrl.Stats().Lane("default")
	if n, m := l.Tiers[admission.T0].Arrived, l.Tiers[admission.T1].Arrived; n != 0 || m != uint64(asked) {
		t.Errorf("%d passed for t0, and of t1 %d came, where the customers are %d", n, m, asked)
	}
}
