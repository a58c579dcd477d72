package regulators

import (
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

const mib = 1 << 20

func TestHeapNeeded(t *testing.T) {
	// 10 MiB of stacks and the runtime's own beside a heap of 100 that spans hold
	// 20 more for.
	base := heapReading{total: 200, released: 40, free: 30, unused: 20, objects: 100, live: 60, goal: 120, goLimit: math.MaxInt64}
	with := func(change func(*heapReading)) heapReading { r := base; change(&r); return r }
	for name, tc := range map[string]struct {
		r    heapReading
		want float64
	}{
		"nobody keeps the limit: as far as the heap may grow":   {base, 130},
		"Go keeps it: what is live":                             {with(func(r *heapReading) { r.goLimit = 1000 }), 70},
		"Go keeps a lower one":                                  {with(func(r *heapReading) { r.goLimit = 900 }), 70},
		"Go's is too high to help":                              {with(func(r *heapReading) { r.goLimit = 1001 }), 130},
		"past the goal, before the collection is through":       {with(func(r *heapReading) { r.objects, r.total = 150, 250 }), 160},
		"no goal, as with GOGC=off: what is there":              {with(func(r *heapReading) { r.goal = math.MaxUint64 }), 110},
		"GOGC=off under Go's limit, which garbage is let up to": {with(func(r *heapReading) { r.goal, r.objects, r.total, r.goLimit = 900, 890, 990, 1000 }), 70},
	} {
		if got := tc.r.needed(1000); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

func TestHeapFindsItsLimit(t *testing.T) {
	root := tree(map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1000\n"})
	for name, tc := range map[string]struct {
		h       *heap
		goLimit float64
		want    float64 // 0: an error
	}{
		"GOMEMLIMIT":            {&heap{}, 500, 500},
		"the cgroup's":          {&heap{root: root}, math.MaxInt64, 1000},
		"GOMEMLIMIT is lower":   {&heap{root: root}, 900, 900},
		"the cgroup is lower":   {&heap{root: root}, 1100, 1000},
		"neither":               {&heap{root: tree(nil)}, math.MaxInt64, 0},
		"neither, not on linux": {&heap{}, math.MaxInt64, 0},
		"the cgroup's is zero":  {&heap{root: tree(map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "0\n"})}, math.MaxInt64, 0},
	} {
		got, err := tc.h.findLimit(tc.goLimit)
		if got != tc.want || (err == nil) != (tc.want > 0) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, tc.want)
		}
	}
}

// A process that keeps 64 MiB more reads that much more, and that much less once
// it has let go; garbage that waits to be collected is not read.
func TestHeapSeesWhatIsLive(t *testing.T) {
	const limit = 1024 * mib
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit))
	s, err := Heap(0)
	if err != nil {
		t.Fatal(err)
	}
	read := func() float64 { // in MiB
		t.Helper()
		p, err := s.Pressure(t.Context())
		if err != nil || p <= 0 {
			t.Fatal(p, err)
		}
		return p * heapShare * limit / mib
	}
	near := func(what string, got, want float64) {
		t.Helper()
		t.Logf("%s: %.1f MiB more than expected", what, got-want)
		if math.Abs(got-want) > 8 {
			t.Errorf("%s: %.1f MiB, want about %.1f", what, got, want)
		}
	}
	runtime.GC()
	rest := read()
	kept := make([]byte, 64*mib)
	runtime.GC()
	near("64 MiB kept", read(), rest+64)
	runtime.KeepAlive(kept)
	runtime.GC()
	near("64 MiB let go", read(), rest)
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for range 64 {
		garbage = make([]byte, mib)
	}
	near("64 MiB of garbage", read(), rest)
}

var garbage []byte // keeps the compiler from leaving an allocation out

// Without Go's limit the heap may grow to the goal, which is twice what is live.
func TestHeapWithoutGoLimit(t *testing.T) {
	s, err := Heap(1024 * mib)
	if err != nil {
		t.Fatal(err)
	}
	kept := make([]byte, 100*mib)
	runtime.GC()
	got, err := s.Pressure(t.Context())
	runtime.KeepAlive(kept)
	t.Logf("%.1f MiB", got*heapShare*1024)
	if mibs := got * heapShare * 1024; err != nil || mibs < 195 || mibs > 260 {
		t.Errorf("100 MiB kept and some: %.1f MiB, %v, want about 210", mibs, err)
	}
}

func TestHeapErrors(t *testing.T) {
	if s, err := Heap(512); s != nil || err == nil || !strings.Contains(err.Error(), "limit of the heap is 512, must be 0") { // megabytes were meant
		t.Errorf("%v, %v", s, err)
	}
	if _, err := Heap(minHeapLimit); err != nil {
		t.Error(err)
	}
	if s, err := Heap(-1); s != nil || err == nil || !strings.Contains(err.Error(), "limit of the heap is -1, must be 0 (GOMEMLIMIT or the cgroup's) or at least 4194304 bytes") {
		t.Errorf("%v, %v", s, err)
	}
	if s, err := newHeap(tree(nil), 0); s != nil || err == nil || !strings.Contains(err.Error(), "neither GOMEMLIMIT nor a cgroup v2 limit") {
		t.Errorf("%v, %v", s, err)
	}
}
