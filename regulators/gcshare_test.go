package regulators

import (
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

func TestGCDuty(t *testing.T) {
	var d gcDuty
	steps := []struct {
		why                     string
		collected, total, since float64
		counted                 bool
		want                    float64
	}{
		{"nothing was collected yet", 0, 0, 100, false, 0},
		{"the mean since the start", 1, 10, 0, true, 0.1},
		{"no news: as it was", 1, 10, 9, false, 0.1},
		{"the next is late: less", 1, 10, 20, false, 0.05},
		{"two collections in half of all", 6, 20, 0, true, 0.5},
		{"an estimate that fell", 5, 30, 0, true, 0},
	}
	for _, s := range steps {
		if counted := d.count(s.collected, s.total); counted != s.counted {
			t.Errorf("%s: counted %v", s.why, counted)
		}
		if got := d.share(s.since); math.Abs(got-s.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", s.why, got, s.want)
		}
	}
}

// A heap that may grow by a twentieth between collections is collected all the
// time; one that is left alone is not.
func TestGCShareSeesCollections(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	s, err := GCShare(0.1)
	if err != nil {
		t.Fatal(err)
	}
	nodes := make([]*[64]byte, 1<<18) // something to mark
	for i := range nodes {
		nodes[i] = new([64]byte)
	}
	runtime.GC()
	_, _ = s.Pressure(t.Context())
	for start := time.Now(); time.Since(start) < 200*time.Millisecond; {
		garbage = make([]byte, 4096)
	}
	runtime.KeepAlive(nodes)
	busy, err := s.Pressure(t.Context())
	t.Logf("pressure %.1f", busy)
	if err != nil || busy < 1 || busy > 10.01 {
		t.Errorf("while collecting: %v, %v, want 1 to 10 times a tenth", busy, err)
	}
}

func TestGCShareErrors(t *testing.T) {
	for _, target := range []float64{0, -0.1, 1.1, math.NaN()} {
		if s, err := GCShare(target); s != nil || err == nil || !strings.Contains(err.Error(), "target of GCShare is ") {
			t.Errorf("GCShare(%v) = %v, %v", target, s, err)
		}
	}
}
