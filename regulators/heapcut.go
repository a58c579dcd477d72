package regulators

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// heapCutShare of the limit is where intake ends. At nine tenths the collector
	// still keeps up, if dearly; above this it would soon do nothing else.
	heapCutShare = 0.95

	heapCutEvery = 10 * time.Millisecond // between readings
	heapCutStale = time.Second           // between collections while it refuses
	heapCutFinds = time.Second           // between looks for the limit
)

type heapCut struct {
	heap    *heap
	start   time.Time
	collect func() // asks for a collection and may return before it is done

	at   atomic.Int64 // of the last reading, since start
	full atomic.Bool

	mu struct {
		sync.Mutex
		limit     float64
		foundAt   time.Duration
		cycles    float64
		collected time.Duration // when cycles changed, or was to
	}
}

// HeapCut returns a Guard that lets nobody in while the memory that the Go runtime
// needs, as [Heap] has it, is above 95 % of limit in bytes; with a limit of 0, the
// default, it is found as Heap finds it, each second. It is the last resort
// behind Heap, whose pressure is 1.19 there: Heap sheds by priority, half a second
// behind and never all; this refuses everybody, t0 too, within 10 ms. Keys and n
// are nothing to it. What runs goes on and may still grow: to bound what requests
// bring is for [InflightBytes].
//
// Refusing frees nothing. What requests that end let go is seen after a
// collection, and where nobody is let in none comes by itself. So it asks for one,
// in a goroutine that ends with it, when it has refused for a second without any.
// Where the limit can no longer be read it lets everybody in.
//
// A request costs two atomic loads, and one in 10 ms a reading, about a
// microsecond.
func HeapCut(limit int64) (Guard, error) {
	h, err := heapHere(limit)
	if err != nil {
		return nil, err
	}
	return newHeapCut(h), nil
}

func newHeapCut(h *heap) *heapCut {
	var collecting atomic.Bool
	g := &heapCut{heap: h, start: time.Now(), collect: func() {
		if !collecting.CompareAndSwap(false, true) {
			return // a large heap takes longer than a second
		}
		go func() {
			defer collecting.Store(false)
			runtime.GC()
		}()
	}}
	g.at.Store(-int64(heapCutEvery)) // the first request reads
	g.mu.foundAt = -heapCutFinds
	return g
}

var errHeapCut = fmt.Errorf("%w: HeapCut: the memory there is has been taken", ErrRefused)

func (g *heapCut) Enter(now time.Time, _ string, n int64) error {
	if n < 0 {
		return errNegative
	}
	since, at := now.Sub(g.start), g.at.Load()
	// Either way: a clock that goes back must not end the readings.
	if (since-time.Duration(at)).Abs() >= heapCutEvery && g.at.CompareAndSwap(at, int64(since)) {
		g.full.Store(g.look(since))
	}
	if g.full.Load() {
		return errHeapCut
	}
	return nil
}

func (g *heapCut) Exit(string, int64) {}

// look tells whether the memory is used up.
func (g *heapCut) look(since time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, err := g.heap.read()
	if err == nil && (since-g.mu.foundAt).Abs() >= heapCutFinds {
		g.mu.foundAt = since
		if g.mu.limit, err = g.heap.limitOf(r); err != nil {
			g.mu.limit = math.Inf(1)
		}
	}
	if err != nil || r.needed(g.mu.limit) <= heapCutShare*g.mu.limit {
		g.mu.collected = since
		return false
	}
	if r.cycles != g.mu.cycles {
		g.mu.cycles, g.mu.collected = r.cycles, since
	}
	if (since - g.mu.collected).Abs() >= heapCutStale {
		g.mu.collected = since
		g.collect()
	}
	return true
}
