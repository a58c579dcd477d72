package peers

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/pid"
)

func TestFailsafe(t *testing.T) {
	l := newLane(t, "failsafe")
	l.run(10*time.Second, 100, 100*ms)
	l.want(t, "a step a second", 29, 31)
	was := l.law.Limit()
	l.run(12*time.Second, 100, time.Second)
	if got := l.law.Limit(); got >= was {
		t.Errorf("ten times slower: limit is %d, it was %d", got, was)
	}

	l = newLane(t, "failsafe")
	l.run(time.Minute, 40, 100*ms) // fifty samples in 1.25 s
	l.want(t, "windows of fifty", 60, 70)

	l = newLane(t, "failsafe")
	l.saturated(10*time.Minute, 40)
	l.want(t, "what queues pays with its correlation", 1, 120)

	l = newLane(t, "failsafe")
	l.saturated(10*time.Minute, 1000)
	l.want(t, "its ceiling", 200, 200)
}

func TestFailsafeShrinksToWhatIsUsed(t *testing.T) {
	law := newFailsafe()
	for now := time.Duration(0); now < 2*time.Minute; now += time.Second {
		for range 60 {
			law.Observe(pid.Sample{Service: 100 * ms, Inflight: 2})
		}
		law.Tick(now, pid.Usage{})
	}
	if got := law.Limit(); got < 9 || got > 11 {
		t.Errorf("limit is %d, want about five times the inflight, 2", got)
	}
}

// While no slot is free failsafe also goes by how throughput and service time
// move with the inflight; nothing queues by the long mean here.
func TestFailsafeCorrelations(t *testing.T) {
	for _, tc := range []struct {
		what    string
		service func(inflight float64) float64
		full    bool
		want    float64
	}{
		{"throughput rises", func(float64) float64 { return 1 }, true, +1},
		{"throughput falls", func(n float64) float64 { return n * n / 400 }, true, -1},
		{"throughput falls, slots are free", func(n float64) float64 { return n * n / 400 }, false, +1},
		{"throughput stays", func(n float64) float64 { return n / 20 }, true, -1},
		{"throughput stays, slots are free", func(n float64) float64 { return n / 20 }, false, +1},
	} {
		f := newFailsafe()
		change := 0.0
		for i := range failsafeWarmup {
			n := 20 + float64(i)
			before := f.limit
			f.update(tc.service(n), tc.service(n), n, tc.full)
			change = f.limit - before
		}
		if change != tc.want {
			t.Errorf("%s: the limit moves by %v, want %v", tc.what, change, tc.want)
		}
	}
	for _, tc := range []struct{ short, change float64 }{{1, 1}, {1.1, 1}, {1.25, 0}, {1.4, 0}, {1.5, -1}} {
		f := newFailsafe() // of 20: 0, 2, 4, 6, 7 queue
		if f.update(tc.short, 1, 20, true); f.limit != 20+tc.change {
			t.Errorf("%v times the long mean: limit is %v, want %v", tc.short, f.limit, 20+tc.change)
		}
	}
}
