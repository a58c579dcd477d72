package core

import (
	"cmp"
	"container/heap"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/race"
	"github.com/spillway-go/spillway/pid"
)

// witness is a limit that remembers what it was shown.
type witness struct {
	samples, successes, overloads int
	service                       time.Duration
	area                          float64
	limit                         int // 0: 100
}

func (w *witness) Limit() int { return cmp.Or(w.limit, 100) }

func (w *witness) Observe(s pid.Sample) {
	w.samples++
	if s.Overload {
		w.overloads++
		return
	}
	w.successes += 1 + s.More
	w.service += s.Service
}

func (w *witness) Tick(_ time.Duration, u pid.Usage) { w.area = u.Area }

// until lets happen what is due.
func (e *events) until(now time.Duration) {
	for len(*e) > 0 && (*e)[0].at <= now {
		heap.Pop(e).(event).do()
	}
}

// rush serves so many calls a second for half a second, at most 100 at once, and tells
// the lane as few times as it asks for, or all.
func rush(t *testing.T, rate float64, mean time.Duration, all bool) (v View, w *witness) {
	w = new(witness)
	l, err := New(Config{Gate: pid.GateConfig{Law: "off"}}, w)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 3))
	var todo events
	now, nextTick := time.Duration(0), time.Duration(0)
	for now < time.Second/2 {
		now += time.Duration(r.ExpFloat64() / rate * float64(time.Second))
		service, how := time.Duration(r.ExpFloat64()*float64(mean)), Outcome(r.IntN(10)/8) // a fifth is overload
		for ; nextTick <= now; nextTick += TickPeriod {
			todo.until(nextTick)
			l.Tick(nextTick, 0.5)
		}
		todo.until(now)
		c := &Call{Cost: 1, Rank: r.IntN(NumRanks)}
		l.Offer(c.Rank, 0, false)
		told := now
		if !all && !l.Timed(c, false) {
			told = Untimed
		}
		if l.Arrive(told, c, 0.5, false) != Running {
			continue
		}
		end := now + service
		if c.Untimed {
			end = Untimed
		}
		heap.Push(&todo, event{now + service, func() { l.Release(end, c, how) }})
	}
	todo.until(now + time.Hour)
	l.Tick(nextTick, 0.5)
	l.View(nextTick, &v)
	return v, w
}

func TestFewAreTimedAndAllAreCounted(t *testing.T) {
	for _, tc := range []struct {
		rate float64
		mean time.Duration
	}{{10_000, time.Millisecond}, {400_000, 100 * time.Microsecond}, {2e6, 2 * time.Microsecond}, {2e6, 100 * time.Microsecond}} {
		if race.Enabled && tc.rate > 1e6 {
			continue // millions of calls in one goroutine, where there is nothing to detect
		}
		exact, of := rush(t, tc.rate, tc.mean, true)
		sparse, few := rush(t, tc.rate, tc.mean, false)
		if exact.Tiers != sparse.Tiers || exact.Service.Total() != sparse.Service.Total() || exact.Wait.Total() != sparse.Wait.Total() {
			t.Fatalf("%v/s: the counters differ", tc.rate)
		}
		if tc.rate < 20_000 && (exact.Counters != sparse.Counters || *of != *few) {
			t.Errorf("%v/s: not all were timed", tc.rate)
		}
		if most := int(tc.rate)/20 + 15_000; tc.rate > 20_000 && (few.samples > most || few.samples < 8_000) {
			t.Errorf("%v/s: %d samples", tc.rate, few.samples)
		}
		for _, c := range []struct {
			what      string
			got, want float64
			off       float64
		}{
			{"successes", float64(few.successes), float64(of.successes), 0.001},
			{"share of overload", float64(few.overloads) / float64(few.samples), float64(of.overloads) / float64(of.samples), 0.05},
			{"slot-seconds", few.area, of.area, 0.02 + 0.5/of.area},
			{"sum of the service times", sparse.Service.Sum.Seconds(), exact.Service.Sum.Seconds(), 0.03},
			{"p50", sparse.Service.Quantile(0.5).Seconds(), exact.Service.Quantile(0.5).Seconds(), 0.05},
			{"p99", sparse.Service.Quantile(0.99).Seconds(), exact.Service.Quantile(0.99).Seconds(), 0.25},
		} {
			if !(math.Abs(c.got/c.want-1) <= c.off) {
				t.Errorf("%v/s of %v: %s %v, measured in full %v", tc.rate, tc.mean, c.what, c.got, c.want)
			}
		}
	}
}

func TestPaceKeepsItsShare(t *testing.T) {
	for _, stride := range []int{1, 2, 3, 10, 1000} {
		p, n := pace{stride: stride}, 0
		for range 1_000_000 {
			if p.next() {
				n++
			}
		}
		if want := 1_000_000 / stride; n < want*9/10 || n > want*11/10 {
			t.Errorf("stride %d: %d of 1,000,000", stride, n)
		}
	}
}

func TestPaceFollowsTheRate(t *testing.T) {
	var p pace
	for _, tc := range []struct {
		arrived, granted uint64
		dt               time.Duration
		stride           int
		rush             bool
	}{
		{0, 0, TickPeriod, 1, false},
		{1999, 1999, TickPeriod, 1, false},
		{2000, 2000, TickPeriod, 2, true},
		{1_000_000, 10, TickPeriod, 1, true}, // nearly all are shed
		{1_000_000, 1_000_000, TickPeriod, 1000, true},
		{1_000_000, 1_000_000, 20 * TickPeriod, 50, true},
		{5, 5, 0, 50, true}, // nothing can be told
		{5, 5, TickPeriod, 1, false},
	} {
		if p.set(tc.arrived, tc.granted, tc.dt); p.stride != tc.stride || p.rush != tc.rush {
			t.Errorf("%+v: stride %d, rush %v", tc, p.stride, p.rush)
		}
		p.skip = 1 << 30
	}
	if p.set(5, 5, TickPeriod); p.skip > 1 {
		t.Errorf("%d calls are skipped though the rush is over", p.skip)
	}
}
