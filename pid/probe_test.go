package pid_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/pid"
)

// probed is one probe: what was decided at its end, the limit before and in it.
type probed struct {
	why           string
	before, in    int
	began, length time.Duration
	baseline      time.Duration
}

// probes runs d of a back end and lists the probes that began in it.
func (l *lane) probes(d time.Duration, backend func(int) flow) (found []probed) {
	for end := l.now + d; l.now < end; {
		limit, state := l.law.Limit(), l.state()
		l.runAs(l.step, backend)
		switch now := l.state(); {
		case now.Probing && !state.Probing:
			found = append(found, probed{before: limit, in: l.law.Limit(), began: l.now})
		case !now.Probing && state.Probing:
			p := &found[len(found)-1]
			p.why, p.length, p.baseline = now.Why, l.now-p.began, now.Baseline
		}
	}
	return found
}

func closeTo(a, b time.Duration, share float64) bool {
	return math.Abs(math.Log(float64(a)/float64(b))) <= share
}

// A back end with a queue of its own serves as much at half the limit: the
// probe finds its true service time and keeps the half.
func TestProbeOfASaturatedBackEnd(t *testing.T) {
	l := newLane(t, pid.LimitConfig{Initial: 40})
	found := l.probes(20*time.Second, servers(4, 100*ms))
	if len(found) < 4 {
		t.Fatalf("%d probes in 20 s of saturation, want at least 4: %+v", len(found), found)
	}
	for i, p := range found[:3] { // 40 slots, 20, 10: always twice what is of use
		if p.in != p.before/2 || !strings.Contains(p.why, "saturated") {
			t.Errorf("probe %d: %+v", i, p)
		}
	}
	for l.state().Probing {
		l.runAs(l.step, servers(4, 100*ms))
	}
	l.limitIs("after the probes", 4, 10)
	if got := l.state().Baseline; !closeTo(got, 100*ms, 0.5) {
		t.Errorf("baseline is %v, want about 100ms", got)
	}
}

// A back end whose answers take longer without a queue loses throughput at
// half the limit: what the probe measures is its new baseline.
func TestProbeOfASlowerBackEnd(t *testing.T) {
	elastic := func(service time.Duration) func(int) flow {
		return func(limit int) flow { return full(float64(limit)/service.Seconds(), service)(limit) }
	}
	for _, slow := range []time.Duration{
		120 * ms, // a little above the tolerance: cuts that do not help
		200 * ms, // far above it
	} {
		l := newLane(t, pid.LimitConfig{Initial: 100})
		l.run(2*time.Second, calm(50*ms)) // the first probe is 30 s of binding away
		was := l.law.Limit()
		found := l.probes(5*time.Second, elastic(slow))
		if len(found) == 0 {
			t.Errorf("%v: no probe within 5 s of being slow (limit %d, %+v)", slow, l.law.Limit(), l.state())
			continue
		}
		p := found[0]
		if !strings.Contains(p.why, "elastic") || !closeTo(p.baseline, slow, 0.01) {
			t.Errorf("%v: probe found %+v, want an elastic back end", slow, p)
		}
		if p.before < was/4 {
			t.Errorf("%v: limit fell from %d to %d before the probe: a slow downstream starves", slow, was, p.before)
		}
		l.runAs(10*time.Second, elastic(slow))
		l.limitIs("with the new baseline it grows again", was, 4000)
	}
}

// A probe halves the limit, or lowers one that trials have brought near the knee by less.
func TestProbeCycle(t *testing.T) {
	const service = 20 * ms
	for _, tc := range []struct {
		why      string
		chance   float64
		from, to time.Duration // between two probes
	}{
		{"early end of the jitter", 0, 25500 * ms, 27500 * ms},
		{"late end of the jitter", 0.999, 34 * time.Second, 36500 * ms},
	} {
		l := newLane(t, pid.LimitConfig{})
		l.use.Chance = tc.chance
		l.run(2*time.Second, calm(service))
		found := l.probes(3*time.Minute, servers(50, service))
		if len(found) < 3 {
			t.Fatalf("%s: %d probes in 3 minutes of binding: %+v", tc.why, len(found), found)
		}
		if first := found[0].began - 2*time.Second; first < 29*time.Second || first > 32*time.Second {
			t.Errorf("%s: first probe after %v of binding, want 30s since it was calm before", tc.why, first)
		}
		for i, p := range found[:len(found)-1] {
			if p.length < 2*service || p.length > 3*time.Second || p.in < p.before/2 || p.in > 3*p.before/4 {
				t.Errorf("%s: probe %d: %+v", tc.why, i, p)
			}
			if i == 0 || strings.Contains(p.why, "saturated") {
				continue // after one that halved the limit the next follows at once
			}
			if gap := found[i+1].began - p.began - p.length; gap < tc.from || gap > tc.to {
				t.Errorf("%s: %v between probes %d and %d, want %v to %v", tc.why, gap, i, i+1, tc.from, tc.to)
			}
		}
	}
	l := newLane(t, pid.LimitConfig{})
	if found := l.probes(3*time.Second, servers(50, service)); len(found) == 0 || found[0].began > 2*time.Second {
		t.Errorf("without a calm window before, the first probe comes after 1 s of binding; found %+v", found)
	}
	// A probe that lasts long makes the next one wait 40 times as long.
	l = newLane(t, pid.LimitConfig{})
	l.run(20*time.Second, flow{rate: 50, service: time.Second, busy: 2})
	found := l.probes(8*time.Minute, servers(50, time.Second))
	if n := len(found); n < 2 || found[1].began-found[0].began < 40*found[0].length {
		t.Errorf("a back end of 1s: probes are %+v", found)
	}
	l = newLane(t, pid.LimitConfig{Min: 20, Max: 20})
	if found := l.probes(time.Minute, servers(4, service)); len(found) != 0 {
		t.Errorf("there is nothing to halve at the floor, yet: %+v", found)
	}
}

func TestProbeThatCannotEnd(t *testing.T) {
	start := func(t *testing.T) *lane {
		t.Helper()
		l := newLane(t, pid.LimitConfig{Initial: 40, Max: 40})
		for range 100 {
			if l.state().Probing {
				return l
			}
			l.runAs(l.step, servers(40, 100*ms))
		}
		t.Fatal("no probe")
		return nil
	}
	t.Run("gap", func(t *testing.T) {
		l := start(t)
		l.limitIs("in the probe", 20, 20)
		l.now += 10 * time.Second
		l.runAs(l.step, servers(40, 100*ms))
		l.limitIs("a gap gives it up", 40, 40)
		if l.state().Probing {
			t.Error("still probing")
		}
	})
	t.Run("nothing comes out", func(t *testing.T) {
		l := start(t)
		l.run(3*time.Second, flow{busy: 20, blocked: true})
		l.limitIs("after two seconds without a sample", 40, 40)
		if got := l.state(); got.Probing || !strings.Contains(got.Why, "nothing learned") {
			t.Errorf("state is %+v", got)
		}
	})
	t.Run("only overload", func(t *testing.T) {
		l := start(t)
		l.run(2300*ms, flow{overload: 10, busy: 20, blocked: true})
		l.limitIs("half the limit is kept", 20, 20)
	})
	// Requests of hours among short ones are no measure of how long the
	// lane takes to settle.
	t.Run("endless requests", func(t *testing.T) {
		l := newLane(t, pid.LimitConfig{Initial: 40, Max: 40})
		found := l.probes(5*time.Minute, func(limit int) flow {
			if l.now%(200*ms) == 0 {
				l.law.Observe(pid.Sample{Service: 10 * time.Hour, Inflight: 40})
			}
			return servers(40, 100*ms)(limit)
		})
		if len(found) == 0 || found[0].length == 0 || found[0].length > 35*time.Second {
			t.Errorf("probes are %+v, want the first one over within 35s", found)
		}
	})
}

// Two lanes of one processor: each request takes as long as there are others,
// whichever lane they are in. Lanes that measure together find out; each by
// itself would take the other's requests for the back end's nature.
func TestLanesOfOneBackEndMeasureTogether(t *testing.T) {
	const alone = 4 * time.Millisecond
	settle := func(together bool) (inflight int) {
		lanes := []*lane{newLane(t, pid.LimitConfig{}), newLane(t, pid.LimitConfig{})}
		probing := make([]bool, len(lanes))
		lanes[0].run(300*time.Millisecond, flow{rate: 5, service: alone, busy: 0.1}) // or chance would make them coincide
		for range 120 * int(time.Second/pid.TickPeriod) {
			total := lanes[0].law.Limit() + lanes[1].law.Limit()
			for _, l := range lanes {
				service := time.Duration(total) * alone
				limit := l.law.Limit()
				l.run(pid.TickPeriod, flow{rate: float64(limit) / service.Seconds(), service: service, busy: float64(limit), blocked: true, losing: true})
			}
			for i, l := range lanes {
				was := probing[i]
				if probing[i] = l.law.(pid.Explainer).State().Probing; together && probing[i] && !was {
					other := lanes[1-i]
					other.law.(pid.Joiner).Join(other.now, other.use)
				}
			}
		}
		t.Log(together, lanes[0].law.Limit(), lanes[1].law.Limit())
		return lanes[0].law.Limit() + lanes[1].law.Limit()
	}
	if n := settle(true); n > 5 {
		t.Errorf("together the lanes settle at %d slots for one processor", n)
	}
	if n := settle(false); n < 10 {
		t.Errorf("lanes that measure by themselves settle at %d slots: they need no Join", n)
	}
}

// Of some forty requests the counts say nothing: they may be off by a quarter by
// chance. Service times that are halved with the limit say that the back end was
// saturated.
func TestServiceTimesTellSaturation(t *testing.T) {
	l := newLane(t, pid.LimitConfig{Initial: 16, Max: 16})
	for !l.state().Probing {
		l.runAs(l.step, full(400, 40*ms))
	}
	for l.state().Probing { // a quarter fewer come out, by chance; each in half the time
		l.runAs(l.step, func(limit int) flow { return full(300, 20*ms)(limit) })
	}
	if got := l.state().Why; got != "probe: saturated, half the limit serves as much" {
		t.Errorf("half the limit at half the service time: %q", got)
	}
}

// A lane whose own probe has just ended has nothing to compare another one with,
// but halves its limit along with the other lane's: that one would measure the
// change of its share.
func TestJoinRightAfterAProbe(t *testing.T) {
	l := newLane(t, pid.LimitConfig{Initial: 40})
	backend := servers(4, 10*ms)
	for !l.state().Probing {
		l.runAs(l.step, backend)
	}
	l.law.(pid.Joiner).Join(l.now, l.use) // it probes already
	for l.state().Probing {
		l.runAs(l.step, backend)
	}
	limit, baseline := l.law.Limit(), l.state().Baseline
	l.law.(pid.Joiner).Join(l.now, l.use)
	l.limitIs("with the other lane", limit/2, limit/2)
	if !l.state().Probing {
		t.Fatalf("%+v, want a probe", l.state())
	}
	for l.state().Probing {
		l.runAs(l.step, backend)
	}
	l.limitIs("after it", limit, limit)
	if got := l.state(); got.Baseline != baseline || !strings.Contains(got.Why, "nothing learned") {
		t.Errorf("%+v: learned from nothing, baseline was %v", got, baseline)
	}
}
