package pid_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/race"
	"github.com/spillway-go/spillway/pid"
)

// laws are all that tune, and what each of them makes of a saturated back end of
// 40 servers, 100 ms, whose callers wait for a second: 36 to 80 slots are good.
// Only the default comes there; what the others are known for stands in their
// comments.
var laws = []struct {
	name     string
	recovers time.Duration // at most
	from, to int
}{
	{"octave", 3 * time.Minute, 36, 80},
	{"aimd", time.Minute, 36, 450}, // up to where callers give up
	{"gradient2", 20 * time.Minute, 36, 450},
	{"vegas", 30 * time.Minute, 36, 450},
}

// wild feeds anything.
func wild(r *rand.Rand, l *lane) {
	services := []time.Duration{-1, 0, 1, time.Microsecond, ms, 100 * ms, time.Second, time.Minute, math.MinInt64}
	inflights := []int{-5, 0, 1, 7, 100, 1e6, math.MaxInt}
	for range r.IntN(60) { // none, few or a flood
		l.law.Observe(pid.Sample{
			Service: services[r.IntN(len(services))], Inflight: inflights[r.IntN(len(inflights))],
			Overload: r.IntN(3) == 0,
		})
	}
	switch r.IntN(20) {
	case 0:
		l.now -= time.Duration(r.Int64N(int64(time.Minute)))
	case 1:
		l.now += time.Duration(r.Int64N(int64(time.Hour)))
	default:
		l.now += time.Duration(r.Int64N(int64(200 * ms)))
	}
	l.use.Blocked += uint64(r.IntN(2))
	l.use.Lost += uint64(r.IntN(2))
	l.use.Chance = r.Float64()
	l.use.Deadline = []time.Duration{0, -1, 1, time.Second, math.MaxInt64}[r.IntN(5)]
	area := l.use.Area
	switch r.IntN(10) {
	case 0:
		l.use.Area = []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1e300, 1e300}[r.IntN(5)]
	default:
		l.use.Area += float64(l.law.Limit()) * 0.2 * r.Float64()
		area = l.use.Area
	}
	l.law.Tick(l.now, l.use)
	l.use.Area = area
}

// impatient is 40 servers whose callers call it overload after a second.
func impatient(limit int) flow {
	f := servers(40, 100*ms)(limit)
	if f.service > time.Second {
		f.rate, f.overload = 0, f.rate
	}
	return f
}

// Whatever is fed, the limit keeps to its bounds, holds without data, finds a
// sane back end again, and says why.
func TestLawProperties(t *testing.T) {
	runs := 30
	if race.Enabled { // in one goroutine there is nothing to detect
		runs = 5
	}
	for i, law := range laws {
		t.Run(law.name, func(t *testing.T) {
			seed := uint64(5 + i)
			r := rand.New(rand.NewPCG(seed, seed))
			for run := range runs {
				cfg := pid.LimitConfig{Law: law.name, Min: 1 + r.IntN(3), Max: 500 + r.IntN(3600)}
				l := newLane(t, cfg)
				for range 1000 {
					wild(r, l)
					s := l.state()
					if got := l.law.Limit(); got < cfg.Min || got > cfg.Max || s.Baseline < 0 || s.Latency < 0 || s.Why == "" {
						t.Fatalf("run %d of seed %d: limit %d out of [%d, %d], %+v", run, seed, got, cfg.Min, cfg.Max, s)
					}
				}
				l.now += time.Hour // past whatever the clock has been at
				l.run(time.Second, flow{})
				was := l.law.Limit()
				l.run(30*time.Second, flow{busy: 5, blocked: true})
				l.limitIs("nothing came out", was, was)

				l.use.Deadline = time.Second
				for end := l.now + law.recovers; l.now < end || l.state().Probing; {
					l.runAs(l.step, impatient)
				}
				l.limitIs("a sane back end", law.from, law.to)
				if got := l.state().Baseline; law.name == "octave" && !closeTo(got, 100*ms, 0.5) {
					t.Errorf("baseline is %v, want about 100ms", got)
				}
				if t.Failed() {
					t.Fatalf("run %d of seed %d", run, seed)
				}
			}
		})
	}
}

// What was measured before a gap between ticks decides nothing after it.
func TestLawForgetsOverAGap(t *testing.T) {
	for _, law := range laws {
		t.Run(law.name, func(t *testing.T) {
			l := newLane(t, pid.LimitConfig{Law: law.name})
			l.runAs(20*time.Second, servers(50, 100*ms))
			l.measured(servers(50, 100*ms))
			was := l.law.Limit()
			for range 1000 {
				l.law.Observe(pid.Sample{Service: time.Second, Inflight: was, Overload: true})
				l.law.Observe(pid.Sample{Service: time.Minute, Inflight: was})
			}
			l.now += 2 * time.Second
			l.law.Tick(l.now, l.use)
			l.limitIs("after the gap", was, was)
			l.run(10*time.Second, flow{busy: 1})
			l.limitIs("and later", was, was)
		})
	}
}

// A clock that stands an hour back at every other tick slows a law down, no more.
func TestLawBearsAClockThatGoesBack(t *testing.T) {
	for _, law := range laws {
		t.Run(law.name, func(t *testing.T) {
			l := newLane(t, pid.LimitConfig{Law: law.name})
			for range 60 * 20 {
				l.runAs(l.step, servers(40, 100*ms))
				l.law.Tick(l.now-time.Hour, l.use)
			}
			l.limitIs("after a minute", 25, 4000)
		})
	}
}

// An idle lane keeps its limit for hours, a trickle of requests too.
func TestLawHoldsWhenIdle(t *testing.T) {
	for _, law := range laws {
		t.Run(law.name, func(t *testing.T) {
			l := newLane(t, pid.LimitConfig{Law: law.name, Initial: 8})
			l.run(2*time.Hour, flow{})
			l.limitIs("idle", 8, 8)
			l.run(2*time.Hour, flow{rate: 20, service: 50 * ms, busy: 1})
			l.limitIs("little to do", 8, 8)
		})
	}
}

// Constant time-outs do not look healthy to any law, and none stays down.
func TestLawCutsWhenAllFailsAndComesBack(t *testing.T) {
	for _, law := range laws {
		t.Run(law.name, func(t *testing.T) {
			l := newLane(t, pid.LimitConfig{Law: law.name})
			l.runAs(2*time.Minute, impatient)
			was := l.law.Limit()
			l.runAs(10*time.Minute, func(limit int) flow {
				return flow{overload: 50, service: time.Second, busy: float64(limit), blocked: true, losing: true}
			})
			l.limitIs("everything times out", 1, max(was/3, 10))
			if got := l.state().Baseline; got < 0 || got > time.Minute {
				t.Errorf("baseline is %v", got)
			}
			l.runAs(5*time.Minute, impatient)
			l.limitIs("and recovers", 30, 4000)
		})
	}
}
