package pid

import (
	"testing"
	"time"
)

// One request that took hours among a few short ones must not keep the law from
// seeing a back end that fails: the window's length follows the mean service
// time, which one such sample moves by minutes.
func TestOneEndlessRequestDoesNotFreezeTheLaw(t *testing.T) {
	o, err := NewOctave(LimitConfig{Initial: 100, Max: 100})
	if err != nil {
		t.Fatal(err)
	}
	now, u := time.Duration(0), Usage{}
	run := func(d time.Duration, s Sample, perTick int) {
		for end := now + d; now < end; now += TickPeriod {
			for range perTick {
				o.Observe(s)
			}
			u.Area += float64(o.Limit()) * TickPeriod.Seconds()
			u.Blocked++
			o.Tick(now, u)
		}
	}
	run(2*time.Second, Sample{Service: 20 * time.Millisecond, Inflight: 50}, 2)
	o.Observe(Sample{Service: 24 * time.Hour, Inflight: 50})
	run(2*time.Second, Sample{Service: 20 * time.Millisecond, Inflight: 50}, 2)
	was := o.Limit()
	run(60*time.Second, Sample{Overload: true, Inflight: 50}, 5)
	if o.Limit() > was/4 {
		t.Errorf("after a minute of nothing but overload the limit went from %d to %d", was, o.Limit())
	}
}
