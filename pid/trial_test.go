package pid_test

import (
	"math"
	"testing"
	"time"

	"github.com/spillway-go/spillway/pid"
)

// soft is a back end whose throughput grows as the root of what runs in it: every
// slot more is worth something, and every request slower for it.
func soft(limit int) flow {
	x := float64(limit)
	return full(200*math.Sqrt(x), time.Duration(math.Sqrt(x)/200*1e9))(limit)
}

// crowded is a back end of 16 servers that more than 24 requests slow down.
func crowded(limit int) flow {
	x := float64(limit)
	rate := min(x, 16) / 0.02 / (1 + 0.02*max(0, x-24))
	return full(rate, time.Duration(x/rate*1e9))(limit)
}

// trials counts the law's decisions within d, repeated ones once.
func (l *lane) trials(d time.Duration, backend func(int) flow) (whys map[string]int) {
	whys = map[string]int{}
	last := ""
	for end := l.now + d; l.now < end; {
		l.runAs(l.step, backend)
		if why := l.state().Why; why != last {
			whys[why]++
			last = why
		}
	}
	return whys
}

const (
	asMuch = "trial: the smaller limit serves as much"
	more   = "trial: the larger limit serves more"
)

// A back end that gains nothing beyond a knee is held just above it, the more so the
// surer that is, and one that gains from every slot keeps the whole tolerance.
func TestTrialOfAKnee(t *testing.T) {
	for name, tc := range map[string]struct {
		backend  func(int) flow
		why      string
		from, to int
	}{
		"servers": {servers(16, 20*ms), asMuch, 17, 22},
		"crowded": {crowded, asMuch, 17, 22},
	} {
		l := newLane(t, pid.LimitConfig{})
		l.use.Deadline = 250 * ms
		whys := l.trials(25*time.Second, tc.backend)
		if whys[tc.why] == 0 {
			t.Errorf("%s: in 25 s no %q: %v", name, tc.why, whys)
		}
		l.limitIs(name, tc.from, tc.to)
		l.trials(25*time.Second, tc.backend)
		l.measured(tc.backend)
		l.limitIs(name+", later", 16, 19)
	}
}

// At about what the back end can do the slots are full now and then only: a trial
// waits for that.
func TestTrialNowAndThen(t *testing.T) {
	l := newLane(t, pid.LimitConfig{})
	l.use.Deadline = 250 * ms
	whys := map[string]int{}
	for range 60 {
		for why := range l.trials(time.Second, crowded) {
			whys[why]++
		}
		l.run(500*ms, flow{rate: 600, service: 22 * ms, busy: 0.6 * float64(l.law.Limit()), blocked: true})
	}
	if whys[asMuch] == 0 {
		t.Errorf("no %q: %v", asMuch, whys)
	}
}

func TestTrialOfASoftBackEnd(t *testing.T) {
	l := newLane(t, pid.LimitConfig{})
	l.use.Deadline = 250 * ms
	whys := l.trials(25*time.Second, soft)
	if whys[more] == 0 || whys[asMuch] > 0 {
		t.Errorf("trials ended %v, want %q only", whys, more)
	}
	before := l.law.Limit()
	// After a verdict for the narrow tolerance too: the back end has changed.
	l = newLane(t, pid.LimitConfig{})
	l.use.Deadline = 250 * ms
	l.trials(25*time.Second, crowded)
	l.trials(90*time.Second, soft)
	l.limitIs("a back end that became soft", before*2/3, before*3/2)
}

// A lane that is not asked for more than it can do is not tried: what it serves
// says nothing about its limit.
func TestNoTrialWithoutDemand(t *testing.T) {
	l := newLane(t, pid.LimitConfig{Initial: 40})
	l.use.Deadline = 250 * ms
	f := servers(16, 20*ms)(20)
	f.rate, f.busy = 600, 20
	if whys := l.trials(30*time.Second, func(int) flow { return f }); whys["trial: does another limit serve as much?"] > 0 {
		t.Errorf("tried: %v", whys)
	}
}

// With a tight deadline the tolerance is near the middle one from the beginning: the
// narrow one is tried all the same.
func TestTrialWithATightDeadline(t *testing.T) {
	for _, deadline := range []time.Duration{60 * ms, 85 * ms, 100 * ms} { // 3 to 5 times the baseline
		l := newLane(t, pid.LimitConfig{})
		l.use.Deadline = deadline
		backend := servers(64, 20*ms)
		if whys := l.trials(2*time.Minute, backend); whys[asMuch] == 0 {
			t.Errorf("%v: in two minutes no %q: %v", deadline, asMuch, whys)
		}
		l.measured(backend)
		l.limitIs(deadline.String(), 64, 76)
	}
}

// A trial that could not come to a verdict is not held: at Min, at Max, or where the
// limit is so small that the other tolerance is rounded to about the same.
func TestNoTrialThatCannotTeach(t *testing.T) {
	for _, tc := range []struct {
		servers  float64
		deadline time.Duration
		cfg      pid.LimitConfig
	}{
		{4, 250 * ms, pid.LimitConfig{}},
		{5, 250 * ms, pid.LimitConfig{}},
		{14, 250 * ms, pid.LimitConfig{}},
		{5, 250 * ms, pid.LimitConfig{Min: 6}},
		{4, 20 * ms, pid.LimitConfig{Max: 5, Initial: 5}},
		{8, 20 * ms, pid.LimitConfig{Max: 9}},
		{14, 20 * ms, pid.LimitConfig{Max: 16}},
	} {
		l := newLane(t, tc.cfg)
		l.use.Deadline = tc.deadline
		whys := l.trials(10*time.Minute, servers(tc.servers, 5*ms))
		if whys[asMuch] == 0 || whys["trial: nothing learned"] > 0 {
			t.Errorf("%v servers, %v, %+v: %v, want trials and a verdict for each", tc.servers, tc.deadline, tc.cfg, whys)
		}
	}
}

// Nor at Max where the slots are not quite full: there is room above what is used, and
// none above the limit.
func TestNoTrialAboveMax(t *testing.T) {
	l := newLane(t, pid.LimitConfig{Max: 16})
	l.use.Deadline = 250 * ms
	if whys := l.trials(time.Minute, servers(9, 20*ms)); whys[asMuch] == 0 {
		t.Fatalf("in a minute no %q: %v", asMuch, whys)
	}
	l.measured(servers(9, 20*ms))
	whys := l.trials(10*time.Minute, func(limit int) flow { // it can do more now than Max permits
		f := servers(30, 20*ms)(limit)
		f.busy *= 0.9
		return f
	})
	l.limitIs("at Max", 16, 16)
	if whys["trial: nothing learned"] > 0 {
		t.Errorf("%v, want no trial without a verdict", whys)
	}
}

// Nor is one held on to when nobody comes any more, or after a gap in time.
func TestTrialEndsWithDemand(t *testing.T) {
	const tried = "trial: does another limit serve as much?"
	for name, quiet := range map[string]func(*lane){
		"idle":       func(l *lane) { l.run(15*time.Second, flow{}) },
		"all but":    func(l *lane) { l.run(15*time.Second, flow{rate: 0.2, service: 20 * ms, busy: 0.004}) },
		"a long gap": func(l *lane) { l.now += time.Minute; l.run(l.step, flow{}) },
	} {
		l := newLane(t, pid.LimitConfig{})
		l.use.Deadline = 250 * ms
		backend, before := servers(16, 20*ms), 0
		for l.now < 2*time.Minute && l.state().Why != tried {
			before = l.law.Limit()
			l.runAs(l.step, backend)
		}
		if l.state().Why != tried {
			t.Fatalf("no trial in two minutes: %+v", l.state())
		}
		quiet(l)
		if l.state().Why != "trial: nothing learned" {
			t.Errorf("%s: %q", name, l.state().Why)
		}
		l.limitIs(name, before-3, before+3)
	}
}

// A verdict holds for about the limit at which it was found: the narrow tolerance does
// not take a back end that has become slower to half of what that can bear.
func TestVerdictIsVoidFarBelow(t *testing.T) {
	l := newLane(t, pid.LimitConfig{})
	l.use.Deadline = 250 * ms
	l.trials(40*time.Second, servers(50, 20*ms))
	l.measured(servers(50, 20*ms))
	l.limitIs("narrow", 54, 58)
	least := l.law.Limit()
	for end := l.now + 10*time.Second; l.now < end; least = min(least, l.law.Limit()) {
		l.runAs(l.step, servers(50, 26*ms))
	}
	if least < 40 {
		t.Errorf("the limit fell to %d", least)
	}
}
