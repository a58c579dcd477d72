package regulators

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"runtime/metrics"
	"sync"
)

// heapShare of the limit is a pressure of 1. At this much live memory the
// collector has a quarter of it to let garbage grow into and runs as often as
// with GOGC=25; at nine tenths it would run more than twice as often again.
const heapShare = 0.8

// minHeapLimit is what a Go heap grows to before its first collection: no program
// keeps a lower limit, so that a smaller number is one in another unit than bytes.
const minHeapLimit = 4 << 20

type heap struct {
	root  fs.FS   // nil: no cgroups here
	limit float64 // 0: found at each poll

	mu struct {
		sync.Mutex
		samples []metrics.Sample
	}
}

// heapMetrics name what a poll reads, in the order of the fields of heapReading.
var heapMetrics = []string{
	"/memory/classes/total:bytes",
	"/memory/classes/heap/released:bytes",
	"/memory/classes/heap/free:bytes",
	"/memory/classes/heap/unused:bytes",
	"/memory/classes/heap/objects:bytes",
	"/gc/heap/live:bytes",
	"/gc/heap/goal:bytes",
	"/gc/gomemlimit:bytes",
	"/gc/cycles/total:gc-cycles",
}

// Heap returns a Signal for memory: what the Go runtime needs, over four fifths
// of limit in bytes. With a limit of 0, the default, it is the lower of GOMEMLIMIT
// and cgroup v2's memory.max (of the process's group and of those above it), read
// anew at each poll; where there is neither, Heap returns an error, as a number is
// then needed. So it does for a limit below 4 MiB.
//
// What counts as needed depends on who keeps the limit. Where Go's own memory
// limit is no higher, the collector takes garbage away before the limit is
// passed: then it is the live heap, as of the last collection. Otherwise nothing
// holds the heap back from growing to the collector's next goal (twice the live
// heap, with GOGC=100), so it is that goal: GOMEMLIMIT a little below the
// container's limit makes better use of it. Stacks and the runtime's own are
// counted in both; memory from C or mapped by the program is seen by neither.
//
// It slows intake and does not pretend to free anything: what is live is given
// back when requests end. The live heap is as old as the last collection, which
// comes the sooner the faster memory is taken. A poll costs about a microsecond,
// and with a limit of 0 on Linux some 10 to 100 more to read the cgroup's limit.
func Heap(limit int64) (Signal, error) {
	h, err := heapHere(limit)
	if err != nil {
		return nil, err
	}
	return h, nil
}

func heapHere(limit int64) (*heap, error) {
	root, err := hostRoot()
	if err != nil {
		root = nil // no cgroups: GOMEMLIMIT and a number are as good
	}
	return newHeap(root, limit)
}

func newHeap(root fs.FS, limit int64) (*heap, error) {
	if limit != 0 && limit < minHeapLimit {
		return nil, fmt.Errorf("regulators: limit of the heap is %d, must be 0 (GOMEMLIMIT or the cgroup's) or at least %d bytes, 4 MiB", limit, minHeapLimit)
	}
	h := &heap{root: root, limit: float64(limit)}
	for _, name := range heapMetrics {
		h.mu.samples = append(h.mu.samples, metrics.Sample{Name: name})
	}
	if _, err := h.Pressure(context.Background()); err != nil {
		return nil, err
	}
	return h, nil
}

func (h *heap) Pressure(context.Context) (float64, error) {
	r, err := h.read()
	if err != nil {
		return 0, err
	}
	limit, err := h.limitOf(r)
	if err != nil {
		return 0, err
	}
	return r.needed(limit) / (heapShare * limit), nil
}

// limitOf is the limit that was named, or else that which is found now.
func (h *heap) limitOf(r heapReading) (float64, error) {
	if h.limit > 0 {
		return h.limit, nil
	}
	return h.findLimit(r.goLimit)
}

// findLimit returns the lower of Go's limit and the cgroup's.
func (h *heap) findLimit(goLimit float64) (float64, error) {
	limit := goLimit
	if h.root != nil {
		cgroup, limited, err := cgroupMemoryLimit(h.root)
		if err != nil {
			return 0, fmt.Errorf("regulators: limit of the heap: %w", err)
		}
		if limited {
			limit = min(limit, cgroup)
		}
	}
	if limit >= math.MaxInt64 || limit <= 0 {
		return 0, errors.New("regulators: limit of the heap is 0, but there is neither GOMEMLIMIT nor a cgroup v2 limit: name one in bytes")
	}
	return limit, nil
}

// heapReading is in bytes, but for the count of collections.
type heapReading struct {
	total, released, free, unused, objects, live, goal, goLimit, cycles float64
}

func (h *heap) read() (heapReading, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	metrics.Read(h.mu.samples)
	var r heapReading
	for i, field := range []*float64{&r.total, &r.released, &r.free, &r.unused, &r.objects, &r.live, &r.goal, &r.goLimit, &r.cycles} {
		if h.mu.samples[i].Value.Kind() != metrics.KindUint64 {
			return r, fmt.Errorf("regulators: this Go runtime has no number %s", heapMetrics[i])
		}
		*field = float64(h.mu.samples[i].Value.Uint64())
	}
	return r, nil
}

// needed is the memory without what the next requests can have without asking
// the system for more: freed, free within spans, and garbage that the collector
// takes in time.
func (r heapReading) needed(limit float64) float64 {
	beside := r.total - r.released - r.free - r.unused - r.objects
	switch {
	case r.goLimit <= limit:
		return beside + r.live
	case r.goal >= math.MaxInt64: // GOGC=off: there is no goal
		return beside + r.objects
	default:
		return beside + max(r.goal, r.objects)
	}
}
