package pid_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spillway-go/spillway/pid"
)

// events plays a law's life from bytes: samples of any kind, floods, gaps, a
// clock that runs backwards. It checks after each tick what must always hold.
// It returns the latest that the clock has been at.
func (l *lane) events(script []byte, cfg pid.LimitConfig) (latest time.Duration) {
	next := func() int {
		if len(script) == 0 {
			return 0
		}
		b := script[0]
		script = script[1:]
		return int(b)
	}
	services := []time.Duration{-1, 0, 1, time.Microsecond, ms, 100 * ms, time.Second, time.Minute, 24 * time.Hour, math.MinInt64, math.MaxInt64}
	inflights := []int{-5, 0, 1, 7, 100, 1e6, math.MaxInt}
	gaps := []time.Duration{0, ms, pid.TickPeriod, pid.TickPeriod, pid.TickPeriod, time.Second, time.Minute, -time.Second, -time.Hour}
	areas := []float64{0, 0.4, 1, 100, -1, 1e300, math.NaN(), math.Inf(1), math.Inf(-1)}
	deadlines := []time.Duration{0, -1, 1, time.Second, math.MaxInt64}
	told := false // whether any sample came
	for len(script) > 0 {
		n := next() % 64
		s := pid.Sample{
			Service: services[next()%len(services)], Inflight: inflights[next()%len(inflights)],
			Overload: next()%3 == 0,
		}
		for range n {
			l.law.Observe(s)
		}
		told = told || n > 0
		l.now += gaps[next()%len(gaps)]
		latest = max(latest, l.now)
		l.use.Blocked += uint64(next() % 2)
		l.use.Lost += uint64(next() % 2)
		l.use.Chance = float64(next()) / 256
		l.use.Deadline = deadlines[next()%len(deadlines)]
		sane := l.use.Area
		l.use.Area += areas[next()%len(areas)] * l.step.Seconds() * float64(l.law.Limit())
		was := l.law.Limit()
		l.law.Tick(l.now, l.use)
		if !(math.Abs(l.use.Area) < 1e12) {
			l.use.Area = sane
		}
		got, state := l.law.Limit(), l.state()
		if got < cfg.Min || got > cfg.Max || state.Baseline < 0 || state.Latency < 0 {
			l.t.Fatalf("limit %d out of [%d, %d], %+v", got, cfg.Min, cfg.Max, state)
		}
		if got != was && !told {
			l.t.Fatalf("the limit moved from %d to %d without data: %+v", was, got, state)
		}
	}
	return latest
}

// settles holds a law that has been through anything to the band of a fresh one:
// nothing moves it without data, and before a sane back end it is where it
// would be.
func (l *lane) settles() {
	l.use.Area, l.use.Deadline, l.use.Chance = 0, time.Second, 0.5
	l.run(time.Second, flow{})
	was := l.law.Limit()
	l.run(30*time.Second, flow{busy: 5, blocked: true})
	l.limitIs("nothing came out", was, was)
	for end := l.now + 3*time.Minute; l.now < end || l.state().Probing; {
		l.runAs(l.step, servers(40, 100*ms))
	}
	l.limitIs("a sane back end", 36, 80)
	if got := l.state().Baseline; !closeTo(got, 100*ms, 0.5) {
		l.t.Errorf("baseline is %v, want about 100ms", got)
	}
}

func FuzzLimit(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 200, 30, 8, 3, 1, 2, 1, 1, 128, 3, 2})
	r := rand.New(rand.NewPCG(9, 9))
	for range 8 {
		s := make([]byte, 3000)
		for i := range s {
			s[i] = byte(r.Uint32())
		}
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		cfg := pid.LimitConfig{Min: 1, Max: 4000}
		if len(script) > 1 {
			cfg.Min, cfg.Max = 1+int(script[0]%4), 100+16*int(script[1])
			script = script[2:]
		}
		l := newLane(t, cfg)
		l.now = l.events(script, cfg) + time.Hour
		l.settles()
	})
}
