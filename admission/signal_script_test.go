package admission

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/regulators"
)

// pollFunc is one poll; over is closed when the act is.
type pollFunc func(ctx context.Context, pressure float64, over <-chan struct{}) (float64, error)

// act is some time in the life of a signal and of what it watches.
type act struct {
	why   string
	lasts time.Duration
	// load, s seconds into the act, over what the resource bears.
	load func(s float64) float64
	// reads is what the signal does instead of telling its pressure; nil: it tells it.
	reads pollFunc
	// From after on, the ratio must be what the load asks for, 1-1/load, within 0.05
	// in the mean and with a spread around it of at most 0.05; with open, nobody may
	// be shed.
	after time.Duration
	open  bool
}

func steadily(x float64) func(float64) float64 { return func(float64) float64 { return x } }

func ramp(from, to float64, over time.Duration) func(float64) float64 {
	return func(s float64) float64 { return from + (to-from)*s/over.Seconds() }
}

func swing(mean, by float64, period time.Duration) func(float64) float64 {
	return func(s float64) float64 { return mean + by*math.Sin(2*math.Pi*s/period.Seconds()) }
}

// Whatever a signal does, it is settled 5 s after it can be, sheds nobody without
// a reading, and is itself again afterwards.
func TestSignalScripts(t *testing.T) {
	const settled = 5 * time.Second
	const stale = 2200 * time.Millisecond // three periods of half a second, one until the loop looks, and a tick of the gate
	calm := act{why: "half the load", lasts: 10 * time.Second, load: steadily(0.5), after: settled, open: true}
	busy := act{why: "three times the load", lasts: 15 * time.Second, load: steadily(3), after: settled}
	scripts := map[string][]act{
		"steps": {
			calm, busy,
			{why: "a step down", lasts: 20 * time.Second, load: steadily(2), after: settled},
			{why: "a step up", lasts: 20 * time.Second, load: steadily(5), after: settled},
			calm, busy,
		},
		"ramps": {
			calm,
			{why: "up", lasts: 40 * time.Second, load: ramp(1, 4, 40*time.Second), after: settled},
			{why: "down", lasts: 40 * time.Second, load: ramp(4, 1, 40*time.Second), after: settled},
			calm,
		},
		"load oscillates": {
			calm,
			{why: "slowly: it is followed", lasts: time.Minute, load: swing(2, 0.4, 20*time.Second), after: settled},
			{why: "fast: the mean is held", lasts: 40 * time.Second, load: swing(2, 0.12, time.Second), after: settled},
			calm,
		},
		"reading oscillates": {
			calm,
			{
				why: "by 5 %, each 2 s", lasts: 40 * time.Second, load: steadily(2), after: settled,
				reads: func(_ context.Context, p float64, _ <-chan struct{}) (float64, error) {
					return p * swing(1, 0.05, 2*time.Second)(float64(time.Now().UnixNano()%2e9)/1e9), nil
				},
			},
			calm,
		},
	}
	for name, reads := range map[string]pollFunc{
		"goes silent": func(context.Context, float64, <-chan struct{}) (float64, error) { return 0, regulators.ErrNoReading },
		"returns rubbish": func(_ context.Context, p float64, _ <-chan struct{}) (float64, error) {
			return []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1 - p, 1e308}[rand.IntN(5)], nil
		},
		"hangs": func(_ context.Context, _ float64, over <-chan struct{}) (float64, error) { <-over; return 9, errMine },
	} {
		scripts[name] = []act{calm, busy, {why: "without a reading", lasts: 15 * time.Second, load: steadily(3), reads: reads, after: stale, open: true}, busy, calm}
	}
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { play(t, script) })
		})
	}
}

// watched is what a signal watches: its pressure is what was served of it since the
// last poll.
type watched struct {
	sync.Mutex
	bears  float64 // a second
	act    act
	over   chan struct{}
	served float64
	polled time.Time
}

// bears is what it bears a second: enough that to count what came in half of one
// tells the rate to 5 %.
const bears = 800

func newWatched(bears float64, a act) *watched {
	return &watched{bears: bears, act: a, polled: time.Now().Add(-time.Second)}
}

func (w *watched) Pressure(ctx context.Context) (float64, error) {
	w.Lock()
	pressure, reads, over := w.served/w.bears/time.Since(w.polled).Seconds(), w.act.reads, w.over
	w.served, w.polled = 0, time.Now()
	w.Unlock()
	if reads == nil {
		return pressure, nil
	}
	return reads(ctx, pressure, over)
}

func (w *watched) serve(context.Context) error {
	w.Lock()
	defer w.Unlock()
	w.served++
	return nil
}

// play offers the loads of a script and holds each act to what it says.
func play(t *testing.T, script []act) {
	const seed, step = 71, 5 * time.Millisecond
	rng := rand.New(rand.NewPCG(seed, 1))
	w := newWatched(bears, act{})
	c := NewQuiet(t, Config{}, WithSignal("s", w))
	for _, a := range script {
		w.Lock()
		w.act, w.over = a, make(chan struct{})
		w.Unlock()
		var asked, shed, looks, sum, squares float64
		for begin := time.Now(); time.Since(begin) < a.lasts; time.Sleep(step) {
			load, counts := a.load(time.Since(begin).Seconds()), time.Since(begin) >= a.after
			for range poisson(rng, load*bears*step.Seconds()) {
				err := c.Do(t.Context(), Request{Priority: NewPriority(Tier(rng.IntN(NumTiers)), rng.IntN(NumCohorts))}, w.serve)
				if counts {
					asked++
				}
				if counts && err != nil {
					shed++
				}
			}
			if counts && time.Since(begin)%(100*time.Millisecond) == 0 { // once a tick of the gate
				off := only(t, c).ShedRatio - max(0, 1-1/load)
				looks, sum, squares = looks+1, sum+off, squares+off*off
			}
		}
		mean := sum / looks
		sd := math.Sqrt(max(0, squares/looks-mean*mean))
		t.Logf("%s: %.3f of %.0f shed, ratio off by %.3f, sd %.3f", a.why, shed/asked, asked, mean, sd)
		if a.open && shed > 0 {
			t.Errorf("%s: %.0f of %.0f shed after %v, want none (seed %d)", a.why, shed, asked, a.after, seed)
		}
		if !a.open && (math.Abs(mean) > 0.05 || sd > 0.05) {
			t.Errorf("%s: after %v the ratio is off by %.3f in the mean, sd %.3f, want at most 0.05 (seed %d)", a.why, a.after, mean, sd, seed)
		}
		if s := c.Stats().Signals[0]; a.reads != nil && a.open && (!s.Stale || s.Misses == 0 || s.Err == nil || s.Ratio != 0) {
			t.Errorf("%s: %+v", a.why, s)
		}
		close(w.over)
	}
}

// poisson draws how many come where mean come in the mean.
func poisson(rng *rand.Rand, mean float64) (n int) {
	for at := rng.ExpFloat64(); at < mean; at += rng.ExpFloat64() {
		n++
	}
	return n
}
