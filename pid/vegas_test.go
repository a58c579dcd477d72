package pid_test

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/pid"
)

// The law moves by what queues in the back end, limit * (1 - baseline/service),
// rounded up.
func TestVegasTimeline(t *testing.T) {
	l := newLane(t, pid.LimitConfig{Law: "vegas", Initial: 8})
	for _, step := range []struct {
		service time.Duration
		limit   int
		why     string
	}{
		{100 * ms, 8, "hold: baseline lowered"}, // the first there is
		{100 * ms, 14, "grow: nothing queues in the back end"},
		{110 * ms, 15, "grow: little queues in the back end"},            // 2 of 14
		{150 * ms, 15, "hold: as much queues in the back end as should"}, // 5 of 15
		{200 * ms, 14, "cut: much queues in the back end"},               // 8 of 15
		{90 * ms, 14, "hold: baseline lowered"},
		{90 * ms, 20, "grow: nothing queues in the back end"},
	} {
		l.runAs(time.Second, full(40, step.service))
		if got, why := l.law.Limit(), l.state().Why; got != step.limit || why != step.why {
			t.Errorf("%v: limit %d, %q, want %d, %q", step.service, got, why, step.limit, step.why)
		}
	}
	l.run(time.Second, flow{rate: 40, service: 90 * ms, busy: 5})
	l.limitIs("not half used", 20, 20)
	l.run(time.Second, flow{rate: 40, service: 90 * ms, overload: 60, busy: 20})
	l.limitIs("more overload than success", 19, 19)
	l.run(time.Second, flow{overload: 60, busy: 20})
	l.limitIs("nothing but overload", 18, 18)
	l.run(time.Second, flow{rate: 40, service: 90 * ms, overload: 2, busy: 20})
	l.limitIs("a few lost", 24, 24)
}

// Steps grow with the digits of the limit.
func TestVegasStepsWithLargeLimits(t *testing.T) {
	l := newLane(t, pid.LimitConfig{Law: "vegas", Initial: 1500})
	l.runAs(time.Second, full(2000, 100*ms))
	l.runAs(time.Second, full(2000, 100*ms))
	l.limitIs("grow", 1518, 1518)
	l.runAs(time.Second, full(2000, 200*ms))
	l.limitIs("cut", 1515, 1515)
}

// After jitter x 30 windows per slot the baseline is measured anew, at whatever
// load there is: 0.75 * 30 * 13 = 292 windows here.
func TestVegasMeasuresItsBaselineAnew(t *testing.T) {
	l := newLane(t, pid.LimitConfig{Law: "vegas", Initial: 13})
	l.runAs(time.Second, full(40, 100*ms))
	l.runAs(285*time.Second, full(40, 150*ms)) // 5 of 13 queue: a hold
	l.limitIs("held", 13, 13)
	if got := l.state().Baseline; !closeTo(got, 100*ms, 0.01) {
		t.Errorf("baseline is %v, want 100ms", got)
	}
	l.runAs(10*time.Second, full(40, 150*ms))
	if got := l.state().Baseline; !closeTo(got, 150*ms, 0.01) {
		t.Errorf("baseline is %v, want 150ms", got)
	}
	if got := l.law.Limit(); got <= 13 {
		t.Errorf("limit is %d: nothing queues by the new baseline", got)
	}
}
