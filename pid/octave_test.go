package pid_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/pid"
)

const ms = time.Millisecond

// calm is traffic that half the limit carries: the law learns the baseline from
// it, moves nothing and wants no probe before 30 s of binding.
func calm(service time.Duration) flow { return flow{rate: 200, service: service, busy: 2} }

func TestOctaveHoldsWithoutData(t *testing.T) {
	l := newLane(t, pid.LimitConfig{})
	l.limitIs("at the start", 8, 8)
	l.run(300*time.Second, flow{})
	l.limitIs("after 300 s without traffic", 8, 8)
	l.run(300*time.Second, flow{rate: 10, service: 10 * ms, busy: 0.4})
	l.limitIs("after 300 s of little traffic", 8, 8)

	l.runAs(30*time.Second, servers(50, 100*ms))
	l.measured(servers(50, 100*ms))
	was, state := l.law.Limit(), l.state()
	for _, tc := range []struct {
		why string
		flow
	}{
		{"8 s without samples", flow{busy: float64(was), blocked: true, losing: true}},
		{"seven samples in 8 s", flow{rate: 0.9, service: time.Hour, busy: float64(was), blocked: true}},
	} {
		l.now += 10 * time.Second
		l.run(l.step, flow{}) // a gap: nothing that came before is kept
		l.step = 900 * ms     // long, but no gap
		if l.run(9*l.step, tc.flow); l.law.Limit() != was || l.state() != state {
			t.Errorf("%s: limit went from %d to %d, %+v", tc.why, was, l.law.Limit(), l.state())
		}
		l.step = pid.TickPeriod
	}
}

func TestOctaveDiscardsTheWindow(t *testing.T) {
	grows := full(400, 10*ms) // 20 samples a tick
	for name, disturb := range map[string]func(*lane){
		"clock gap of 10 s": func(l *lane) { l.now += 10 * time.Second },
		"area is NaN":       func(l *lane) { l.use.Area = math.NaN() },
		"area is infinite":  func(l *lane) { l.use.Area = math.Inf(1) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLane(t, pid.LimitConfig{})
			l.runAs(200*ms, grows)
			sane := l.use.Area
			disturb(l)
			l.runAs(50*ms, grows) // would have closed the window
			l.limitIs("disturbed", 8, 8)
			l.use.Area = sane
			l.runAs(200*ms, grows)
			l.limitIs("a new window is not full yet", 8, 8)
			l.runAs(300*ms, grows)
			l.limitIs("then it goes on", 9, 20)
		})
	}
}

func TestOctaveIgnoresBadSamples(t *testing.T) {
	l, sane := newLane(t, pid.LimitConfig{}), newLane(t, pid.LimitConfig{})
	for range 40 {
		l.law.Observe(pid.Sample{Service: -time.Second, Inflight: 3})
		l.runAs(50*ms, servers(50, 100*ms))
		sane.runAs(50*ms, servers(50, 100*ms))
	}
	if l.law.Limit() != sane.law.Limit() || l.state() != sane.state() {
		t.Errorf("negative service times moved the law: %+v, without them %+v", l.state(), sane.state())
	}
	l = newLane(t, pid.LimitConfig{})
	l.run(300*ms, flow{rate: 400, service: 0, busy: 1})
	if got := l.state().Latency; got < 999 || got > time.Microsecond {
		t.Errorf("a service time of nothing counts as %v, want a microsecond", got)
	}
}

// Time that runs backwards stands still: such ticks are as good as none.
func TestOctaveTimeBackwards(t *testing.T) {
	l, twin := newLane(t, pid.LimitConfig{}), newLane(t, pid.LimitConfig{})
	for i := range 3000 {
		l.runAs(l.step, servers(50, 100*ms))
		twin.runAs(twin.step, servers(50, 100*ms))
		if i%7 == 0 {
			l.law.Tick(l.now-time.Duration(i)*100*ms, l.use)
		}
		if l.law.Limit() != twin.law.Limit() || l.state() != twin.state() {
			t.Fatalf("at %v: %d, %+v; without ticks back in time %d, %+v", l.now, l.law.Limit(), l.state(), twin.law.Limit(), twin.state())
		}
	}
}

// tau is the ln of latency over baseline at which the limit neither grows nor
// is cut. A window a little below it grows, one a little above cuts.
func TestOctaveTolerance(t *testing.T) {
	const base = 100 * ms
	for _, tc := range []struct {
		deadline time.Duration
		want     float64
	}{
		{0, 0.40},
		{-time.Second, 0.40},
		{2 * base, 0.25},
		{5 * base, 0.32},
		{10 * base, 0.46},
		{100 * base, 0.60},
		{math.MaxInt64, 0.60},
		{1, 0.25},
	} {
		for side, want := range map[float64]string{-0.01: "grow", +0.01: "cut"} {
			l := newLane(t, pid.LimitConfig{Initial: 1000})
			l.use.Deadline = tc.deadline
			l.run(2*time.Second, calm(base))
			at := time.Duration(float64(base) * math.Exp(tc.want+side))
			l.run(300*ms, flow{rate: 2000, service: at, busy: 1000})
			if got := l.state().Why; !strings.HasPrefix(got, want) {
				t.Errorf("deadline %v, %+.2f off tau %.2f: %q, want %q (limit %d)", tc.deadline, side, tc.want, got, want, l.law.Limit())
			}
		}
	}
}

func TestOctaveWindowLengths(t *testing.T) {
	for _, tc := range []struct {
		why     string
		service time.Duration
		rate    float64
		losing  bool
		want    time.Duration // of every window after the first that grows
	}{
		{"loss, floor of the growth window", 20 * ms, 2000, true, 100 * ms},
		{"loss, 1.2 service times", 200 * ms, 2000, true, 240 * ms},
		{"loss, 20 samples", 20 * ms, 50, true, 400 * ms},
		{"no loss, floor of the window", 20 * ms, 2000, false, 250 * ms},
		{"no loss, 2.5 service times", 200 * ms, 2000, false, 500 * ms},
		{"no loss, 20 samples", 20 * ms, 50, false, 400 * ms},
		{"few samples: 5 s and 8 of them", 20 * ms, 1.7, false, 5 * time.Second},
		{"very few samples: 8 of them", 20 * ms, 1, false, 8 * time.Second},
	} {
		l := newLane(t, pid.LimitConfig{})
		l.step = 10 * ms
		l.run(5*time.Second, calm(tc.service))
		var closed []time.Duration
		for end := l.now + 25*time.Second; l.now < end && len(closed) < 4; {
			was := l.law.Limit()
			l.run(l.step, flow{rate: tc.rate, service: tc.service, busy: float64(was), blocked: true, losing: tc.losing})
			if l.law.Limit() != was {
				closed = append(closed, l.now)
			}
		}
		if len(closed) < 3 {
			t.Errorf("%s: grew %d times", tc.why, len(closed))
			continue
		}
		for i := 2; i < len(closed); i++ { // the first one began in the calm, and decided how the second may close
			if got := closed[i] - closed[i-1]; got < tc.want || got > tc.want+2*l.step {
				t.Errorf("%s: window %d took %v, want %v", tc.why, i, got, tc.want)
			}
		}
	}
}

func TestOctaveDecisions(t *testing.T) {
	const base = 100 * ms
	above := func(g float64) time.Duration { return time.Duration(float64(base) * math.Exp(g)) }
	for _, tc := range []struct {
		why  string
		flow flow
		want float64 // the move of one window, in ln; tau is 0.40, 0.22 or less while slots are free; gain 0.65
	}{
		{"at the baseline", flow{rate: 1000, service: base, busy: 100}, 0.26},
		{"at the tolerance", flow{rate: 1000, service: above(0.40), busy: 100}, 0},
		{"at the tolerance of freer slots", flow{rate: 1000, service: above(0.22), busy: 80, blocked: true}, 0},
		{"above that", flow{rate: 1000, service: above(0.40), busy: 80, blocked: true}, -0.117},
		{"far above: cuts are bounded", flow{rate: 1000, service: above(2), busy: 100}, -0.3},
		{"blocked and not full binds, and is held to less", flow{rate: 1000, service: base, busy: 70, blocked: true}, 0.066},
		{"the same, half full", flow{rate: 1000, service: base, busy: 51, blocked: true}, 0.0185},
		{"blocked, less than half full", flow{rate: 1000, service: base, busy: 49, blocked: true}, 0},
		{"90 % full binds", flow{rate: 1000, service: base, busy: 90}, 0.26},
		{"does not bind: no growth", flow{rate: 1000, service: base, busy: 89}, 0},
		{"does not bind, half full, slow", flow{rate: 1000, service: above(2), busy: 51}, -0.3},
		{"does not bind, less than half full, slow", flow{rate: 1000, service: above(2), busy: 49}, 0},
		{"some overload and slow", flow{rate: 600, overload: 400, service: above(0.35), busy: 100}, -0.2},
		{"some overload, not slow", flow{rate: 600, overload: 400, service: above(0.2), busy: 100}, 0.13},
		{"some overload and very slow", flow{rate: 650, overload: 350, service: above(2), busy: 100}, -0.3},
		{"little overload and slow", flow{rate: 750, overload: 250, service: above(0.35), busy: 100}, 0.0325},
	} {
		l := newLane(t, pid.LimitConfig{Initial: 100})
		l.run(2*time.Second, calm(base))
		was := l.law.Limit()
		l.run(300*ms, tc.flow) // one window: 2.5 mean service times, begun in the calm
		if got := math.Log(float64(l.law.Limit()) / float64(was)); math.Abs(got-tc.want) > 0.015 {
			t.Errorf("%s: limit went from %d to %d, %.3f in ln, want %.3f (%s)", tc.why, was, l.law.Limit(), got, tc.want, l.state().Why)
		}
	}
}

// How far one window of 50 samples, half the weight, moves the baseline, as a
// share of the way from it to what was measured, in ln.
func TestOctaveBaseline(t *testing.T) {
	const base = 100 * ms
	for _, tc := range []struct {
		why  string
		g    float64
		busy float64 // of 100 slots
		want float64
	}{
		{"faster, though it binds", -0.5, 100, 0.15},
		{"faster, half used", -0.5, 60, 0.15},
		{"faster, calm: at once, but for two standard errors", -0.5, 10, 1 - 2*math.Sqrt(0.01/50)/0.5},
		{"slower while it binds: a queue in the back end, perhaps", 0.2, 100, 0},
		{"slower, half used: creeps, 0.02 a second", 0.2, 60, 0.005},
		{"slower, calm: nobody's queue", 0.2, 10, 0.05},
	} {
		l := newLane(t, pid.LimitConfig{Initial: 100})
		l.run(2*time.Second, calm(base))
		service := time.Duration(float64(base) * math.Exp(tc.g))
		was := l.state().Baseline
		l.run(250*ms, flow{rate: 200, service: service, busy: tc.busy})
		got := math.Log(float64(l.state().Baseline)/float64(was)) / tc.g
		if math.Abs(got-tc.want) > 1e-4 {
			t.Errorf("%s: the baseline went %.4f of the way, want %v", tc.why, got, tc.want)
		}
	}
}

// In a lull there are only health checks, a hundred times as fast: the baseline is not
// theirs within seconds.
func TestOctaveIsNotTakenInByALull(t *testing.T) {
	l := newLane(t, pid.LimitConfig{Initial: 100})
	l.run(5*time.Second, calm(20*ms))
	l.run(10*time.Second, flow{rate: 2, service: 200 * time.Microsecond, busy: 0.01})
	if got := l.state().Baseline; got < 10*ms {
		t.Errorf("after 10 s of health checks the baseline is %v, want some 15ms", got)
	}
}

// A cold start binds at once, so the law measures within seconds, before its
// first windows are over. After the probe the limit jumps, and the window then
// sees of the newly admitted those that were short: no baseline.
func TestOctaveKeepsWhatAProbeMeasured(t *testing.T) {
	l := newLane(t, pid.LimitConfig{})
	for !l.state().Probing {
		l.runAs(l.step, full(40, 100*ms))
	}
	for l.state().Probing {
		l.runAs(l.step, func(limit int) flow { return full(float64(10*limit), 100*ms)(limit) })
	}
	was := l.state().Why
	for l.state().Why == was {
		l.runAs(l.step, full(100, 30*ms))
	}
	if got := l.state().Baseline; got < 80*ms || l.now > 10*time.Second {
		t.Errorf("%v: baseline is %v after the window behind the probe, want about 100ms", l.now, got)
	}
}

// What a calm lane of few and unlike requests takes is no baseline: a third of
// these are health checks.
func TestOctaveLearnsNothingFromFewAndUnlike(t *testing.T) {
	quiet := func(l *lane, d time.Duration, busy float64) {
		for end := l.now + d; l.now < end; {
			l.run(time.Second, flow{rate: 2, service: 100 * ms, busy: busy})
			l.law.Observe(pid.Sample{Service: 200 * time.Microsecond, Inflight: 1})
		}
	}
	l := newLane(t, pid.LimitConfig{Initial: 50})
	quiet(l, time.Minute, 0.2)
	if got := l.state(); got.Baseline != 0 || !strings.HasPrefix(got.Why, "hold: calm") {
		t.Errorf("before any other: %+v", got)
	}
	l.run(5*time.Second, calm(100*ms))
	was := l.state().Baseline
	quiet(l, time.Minute, 0.2)
	if got := l.state(); !closeTo(got.Baseline, was, 1e-6) {
		t.Errorf("baseline went from %v to %v", was, got.Baseline)
	}
	// Where the limit binds there is no time to wait for more.
	quiet(l, time.Minute, 50)
	if got := l.state(); closeTo(got.Baseline, was, 0.1) {
		t.Errorf("a limit that binds: baseline is %v still", got.Baseline)
	}
	// Alike ones teach, few as they are; and headroom is forgotten all the same.
	l = newLane(t, pid.LimitConfig{})
	l.runAs(time.Minute, servers(200, 100*ms))
	for l.state().Probing {
		l.runAs(l.step, servers(200, 100*ms))
	}
	quiet(l, 10*time.Minute, 0.2)
	l.limitIs("ten minutes of next to nothing", 8, 8)
	l.run(time.Minute, flow{rate: 2, service: 50 * ms, busy: 0.2})
	if got := l.state(); !strings.HasPrefix(got.Why, "hold: the limit") {
		t.Errorf("few but alike: %+v", got)
	}
}
