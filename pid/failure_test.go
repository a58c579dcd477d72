package pid_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/pid"
)

// outcomes shows the law one window of them, with arrivals that find no slot.
func (l *lane) outcomes(good, bad int) {
	for range good {
		l.law.Observe(pid.Sample{Service: 10 * ms, Inflight: l.law.Limit()})
	}
	for range bad {
		l.law.Observe(pid.Sample{Service: time.Second, Inflight: l.law.Limit(), Overload: true})
	}
	l.run(250*ms, flow{blocked: true})
}

func TestOverloadCuts(t *testing.T) {
	for _, tc := range []struct {
		why       string
		start     int
		good, bad int
		want      int
	}{
		{"seven are an accident", 8, 0, 7, 8},
		{"eight are not: half an octave and more", 8, 0, 8, 5},
		{"as many good ones", 8, 8, 8, 8},
		{"one more bad than good: by a quarter of it", 100, 19, 20, 77},
		{"all bad", 100, 0, 1000, 61},
		{"two at a limit of one", 1, 0, 2, 1},
	} {
		l := newLane(t, pid.LimitConfig{Initial: tc.start})
		l.outcomes(tc.good, tc.bad)
		l.limitIs(tc.why, tc.want, tc.want)
		if l.state().Resting {
			t.Errorf("%s: resting", tc.why)
		}
	}
	l := newLane(t, pid.LimitConfig{Initial: 1})
	if l.outcomes(0, 3); !l.state().Resting {
		t.Errorf("three at a limit of one: does not rest, %+v", l.state())
	}
	// Not before a window's time: what fails at once may be one accident.
	l = newLane(t, pid.LimitConfig{})
	l.run(200*ms, flow{overload: 200, busy: 4})
	l.limitIs("200 ms of overload", 8, 8)
	l.run(50*ms, flow{overload: 200, busy: 4})
	l.limitIs("250 ms of overload", 5, 5)
	// Nor where they ran one at a time: what fails there fails for another reason.
	for _, limit := range []int{8, 1} {
		l = newLane(t, pid.LimitConfig{Initial: limit})
		l.run(time.Minute, flow{overload: 8, rate: 2, service: 10 * ms, busy: 0.4})
		l.limitIs("overload one at a time", limit, limit)
		if l.state().Resting {
			t.Errorf("rests at limit %d for what failed one at a time", limit)
		}
	}
	for why, f := range map[string]flow{
		"two at a time":     {overload: 40, busy: 2},
		"nobody more fits":  {overload: 40, busy: 1, blocked: true},
		"most are in use":   {overload: 40, busy: 8},
		"and a few succeed": {overload: 40, busy: 2, rate: 20, service: 10 * ms},
	} {
		l = newLane(t, pid.LimitConfig{})
		l.run(250*ms, f)
		l.limitIs("overload, "+why, 5, 6)
	}
}

// At the floor only a rest is left: a second, then two, and so on up to ten;
// a full window of success ends it. The floor stays.
func TestRestAtTheFloor(t *testing.T) {
	for _, floor := range []int{1, 5} {
		l := newLane(t, pid.LimitConfig{Initial: floor, Min: floor})
		l.step = 10 * ms
		var rests []time.Duration
		for began, end := time.Duration(0), l.now+time.Minute; l.now < end; {
			was := l.state().Resting
			f := flow{}
			if !was {
				f = flow{overload: 100, busy: float64(floor), blocked: true}
			}
			l.run(l.step, f)
			l.limitIs("at the floor", floor, floor)
			switch is := l.state().Resting; {
			case is && !was:
				began = l.now
			case was && !is:
				rests = append(rests, l.now-began)
			}
		}
		const s = time.Second
		if want := []time.Duration{s, 2 * s, 4 * s, 8 * s, 10 * s, 10 * s, 10 * s, 10 * s}; !slices.Equal(rests, want) {
			t.Fatalf("floor %d: rests of %v, want %v", floor, rests, want)
		}
		for l.state().Resting {
			l.run(l.step, flow{})
		}
		l.run(2*time.Second, flow{rate: 200, service: 10 * ms, busy: 0.4})
		l.outcomes(0, 100)
		if got := l.state(); !got.Resting || !strings.HasPrefix(got.Why, "rest") {
			t.Fatalf("floor %d: does not rest: %+v", floor, got)
		}
		began := l.now
		for l.state().Resting {
			l.run(l.step, flow{})
		}
		if got := l.now - began; got < 900*ms || got > time.Second {
			t.Errorf("floor %d: after success the rest is %v more, want 1s again", floor, got)
		}
	}
}

// Ten minutes of nothing but failure, then a sane back end: the limit leaves
// its floor again.
func TestOctaveLeavesTheFloor(t *testing.T) {
	l := newLane(t, pid.LimitConfig{})
	l.runAs(10*time.Minute, func(limit int) flow {
		return flow{overload: 20, busy: float64(limit), blocked: true, losing: true}
	})
	l.limitIs("nothing but failure", 1, 1)
	l.runAs(11*time.Second, func(limit int) flow { return flow{} }) // the last rest
	l.runAs(20*time.Second, servers(50, 100*ms))
	l.limitIs("20 s after the cause is gone", 40, 100)
}

// The limit goes no further than five times what was used lately, and comes
// back to that by 2 % a second: an idle lane forgets a busy hour.
func TestHeadroom(t *testing.T) {
	l := newLane(t, pid.LimitConfig{})
	l.run(time.Minute, flow{rate: 400, service: 10 * ms, busy: 7.9, blocked: true})
	l.limitIs("five times seven slots", 15, 35)

	l = newLane(t, pid.LimitConfig{Initial: 100})
	l.run(10*time.Second, flow{rate: 400, service: 10 * ms, busy: 60})
	l.limitIs("used well", 100, 100)
	l.run(60*time.Second, flow{rate: 400, service: 10 * ms, busy: 2})
	l.limitIs("at 5 x 60 x 0.98^60 there is still room", 100, 100)

	l = newLane(t, pid.LimitConfig{})
	l.runAs(time.Minute, servers(200, 100*ms))
	l.limitIs("busy", 200, 320)
	l.run(10*time.Minute, flow{rate: 400, service: 10 * ms, busy: 2})
	l.limitIs("ten minutes of two slots", 10, 10)
	l.run(10*time.Minute, flow{rate: 400, service: 10 * ms, busy: 1})
	l.limitIs("never below the start", 8, 8)
}
