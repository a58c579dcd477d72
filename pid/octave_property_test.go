package pid_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spillway-go/spillway/pid"
)

// The law finds what a back end can do, from 8, and follows it, once it has
// seen it calm.
func TestOctaveFindsAndFollows(t *testing.T) {
	const service = 100 * ms
	type phase struct {
		why      string
		servers  float64
		settle   time.Duration // until then anything goes
		from, to int
	}
	for name, phases := range map[string][]phase{
		"50 servers": {
			{"from 8", 50, 8 * time.Second, 48, 90},
			{"half of them", 25, 20 * time.Second, 24, 48},
			{"and back", 50, 15 * time.Second, 48, 90},
		},
		"4 servers": {
			{"from 8", 4, 8 * time.Second, 4, 8},
			{"half of them", 2, 20 * time.Second, 2, 4},
			{"and back", 4, 15 * time.Second, 4, 8},
		},
		"400 servers": {{"from 8", 400, 15 * time.Second, 390, 720}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLane(t, pid.LimitConfig{})
			l.use.Deadline = 10 * service
			l.run(5*time.Second, flow{rate: 20, service: service, busy: 2})
			for _, p := range phases {
				l.runAs(p.settle, servers(p.servers, service))
				for range 60 * 20 { // a minute, tick by tick
					l.runAs(l.step, servers(p.servers, service))
					if !l.state().Probing {
						l.limitIs(p.why, p.from, p.to)
					}
					if t.Failed() {
						return
					}
				}
			}
		})
	}
}

// A cold start into overload: the first windows already hold a queue, so the
// baseline is too high until probes have lowered it. Latency pays, not goodput.
func TestOctaveColdStart(t *testing.T) {
	for _, n := range []float64{4, 8, 50, 400} {
		l := newLane(t, pid.LimitConfig{})
		l.use.Deadline = time.Second
		l.runAs(15*time.Second, servers(n, 100*ms))
		for range 60 * 20 {
			l.runAs(l.step, servers(n, 100*ms))
			if got := float64(l.law.Limit()); got > 4.5*n || got < n && !l.state().Probing {
				t.Fatalf("%v servers: limit is %v at %v, %+v", n, got, l.now, l.state())
			}
		}
	}
}

// Ten requests a second are enough to work with.
func TestOctaveAtTenRequestsASecond(t *testing.T) {
	l := newLane(t, pid.LimitConfig{})
	l.use.Deadline = 4 * time.Second
	l.run(30*time.Second, flow{rate: 5, service: 400 * ms, busy: 2})
	l.limitIs("before", 8, 8)
	for range 6 {
		l.runAs(20*time.Second, servers(4, 400*ms))
		l.limitIs("10/s", 3, 8)
	}
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

// Whatever is fed, the limit keeps to its bounds, holds without data, and finds
// a sane back end again.
func TestOctaveProperties(t *testing.T) {
	const seed = 5
	r := rand.New(rand.NewPCG(seed, seed))
	for run := range 60 {
		cfg := pid.LimitConfig{Min: 1 + r.IntN(3), Max: 100 + r.IntN(4000)}
		l := newLane(t, cfg)
		for range 1000 {
			wild(r, l)
			s := l.state()
			if got := l.law.Limit(); got < cfg.Min || got > cfg.Max || s.Baseline < 0 || s.Latency < 0 {
				t.Fatalf("run %d: limit %d out of [%d, %d], %+v", run, got, cfg.Min, cfg.Max, s)
			}
		}
		l.now += time.Hour // past whatever the clock has been at
		l.run(time.Second, flow{})
		was := l.law.Limit()
		l.run(30*time.Second, flow{busy: 5, blocked: true})
		l.limitIs("nothing came out", was, was)

		l.use.Deadline = time.Second
		for end := l.now + 3*time.Minute; l.now < end || l.state().Probing; {
			l.runAs(l.step, servers(40, 100*ms))
		}
		l.limitIs("a sane back end", 36, 80)
		if got := l.state().Baseline; !closeTo(got, 100*ms, 0.5) {
			t.Errorf("run %d: baseline is %v, want about 100ms", run, got)
		}
		if t.Failed() {
			t.Fatalf("run %d of seed %d", run, seed)
		}
	}
}
