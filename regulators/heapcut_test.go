package regulators

import (
	"errors"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// cutter is a HeapCut of a process that needs about half of limit.
func cutter(t *testing.T) (g *heapCut, collections *int, limit int64) {
	t.Helper()
	runtime.GC()
	h, err := newHeap(nil, 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	r, err := h.read()
	if err != nil {
		t.Fatal(err)
	}
	limit = 2*int64(r.needed(r.goLimit)) + 64*mib
	old := debug.SetMemoryLimit(limit)
	t.Cleanup(func() { debug.SetMemoryLimit(old) })
	h.limit = float64(limit)
	g, collections = newHeapCut(h), new(int)
	g.collect = func() { *collections++; runtime.GC() }
	return g, collections, limit
}

// Memory that is taken ends intake within a reading; that it was let go is found
// out though nobody is let in and so no collection comes by itself.
func TestHeapCut(t *testing.T) {
	g, collections, limit := cutter(t)
	now := g.start
	enter := func(after time.Duration) error { now = now.Add(after); return g.Enter(now, "k", 1) }
	if err := enter(0); err != nil {
		t.Fatal(err)
	}
	kept := make([]byte, limit)
	runtime.GC()
	if err := enter(heapCutEvery - 1); err != nil {
		t.Errorf("within one reading: %v", err)
	}
	if err := enter(1); !errors.Is(err, ErrRefused) {
		t.Errorf("memory is taken: %v", err)
	}
	for range 300 { // 3 s
		if enter(10*time.Millisecond) == nil {
			t.Fatal("let in while memory is taken")
		}
	}
	if *collections < 1 || *collections > 3 { // one less for each that came by itself
		t.Errorf("%d collections asked for in 3 s, want at most one each second", *collections)
	}
	runtime.KeepAlive(kept)
	kept = nil
	after := 0
	for ; enter(10*time.Millisecond) != nil; after++ {
		if after > 200 {
			t.Fatal("refuses 2 s after the memory was let go")
		}
	}
	t.Logf("let in %d ms after the memory was let go", after*10)
	if err := enter(-time.Hour); err != nil {
		t.Errorf("clock goes back: %v", err)
	}
	g.Exit("k", 1)
}

// Collections that come anyway are not asked for.
func TestHeapCutAsksOnlyWhenNoneComes(t *testing.T) {
	g, collections, limit := cutter(t)
	kept := make([]byte, limit)
	runtime.GC()
	for now := g.start; now.Sub(g.start) < 3*time.Second; now = now.Add(500 * time.Millisecond) {
		if g.Enter(now, "", 0) == nil {
			t.Error("let in")
		}
		runtime.GC()
	}
	if *collections != 0 {
		t.Errorf("%d collections asked for beside those there were", *collections)
	}
	runtime.KeepAlive(kept)
}

// A limit that moves is followed within a second, and one that cannot be read any
// more limits nobody.
func TestHeapCutFollowsTheLimit(t *testing.T) {
	const self, most = "proc/self/cgroup", "sys/fs/cgroup/memory.max"
	root := tree(map[string]string{self: "0::/\n", most: "1099511627776\n"})
	h, err := newHeap(root, 0)
	if err != nil {
		t.Fatal(err)
	}
	g := newHeapCut(h)
	g.collect = func() {}
	now := g.start
	for _, step := range []struct {
		limit string
		in    bool
	}{{"1099511627776", true}, {"4096", false}, {"1099511627776", true}, {"4096", false}, {"nonsense", true}, {"4096", false}, {"", true}} {
		delete(root, most)
		if step.limit != "" {
			root[most] = tree(map[string]string{most: step.limit})[most]
		}
		now = now.Add(heapCutFinds)
		for range 5 {
			if err := g.Enter(now, "", 1); (err == nil) != step.in {
				t.Fatalf("memory.max is %q: %v", step.limit, err)
			}
			now = now.Add(heapCutEvery)
		}
	}
}

func TestHeapCutErrors(t *testing.T) {
	if g, err := HeapCut(-1); g != nil || err == nil || !strings.Contains(err.Error(), "limit of the heap is -1, must be 0 (GOMEMLIMIT or the cgroup's) or at least 4194304 bytes") {
		t.Errorf("%v, %v", g, err)
	}
	g, err := HeapCut(1 << 40)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Enter(time.Now(), "", -1); !errors.Is(err, errNegative) {
		t.Errorf("n of -1: %v", err)
	}
}

func BenchmarkHeapCut(b *testing.B) {
	g, err := HeapCut(1 << 40)
	if err != nil {
		b.Fatal(err)
	}
	now := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(10 * time.Microsecond)
		if g.Enter(now, "k", 1) == nil {
			g.Exit("k", 1)
		}
	}
}
