package peers

import (
	"math"
	"testing"
	"time"
)

func TestCinnamon(t *testing.T) {
	l := newLane(t, "cinnamon")
	l.run(time.Second, 100, 100*ms)
	l.want(t, "20 and its root", 24, 24)
	l.run(time.Second, 100, 100*ms)
	l.want(t, "24.47 and its root", 29, 29)
	// The median of five and the mean hold a single slow second back.
	l.run(time.Second, 100, time.Second)
	l.want(t, "one slow second", 34, 34)
	was := l.law.Limit()
	l.run(6*time.Second, 100, time.Second)
	if got := l.law.Limit(); got >= was {
		t.Errorf("slow for good: limit is %d, it was %d", got, was)
	}
}

// The covariance of inflight and throughput is what holds against a target that
// drifts upwards with the limit.
func TestCinnamonVeto(t *testing.T) {
	for _, tc := range []struct {
		what    string
		service func(busy float64) float64
		want    float64 // of the limit before
	}{
		{"throughput rises with the inflight", func(float64) float64 { return 1 }, 1.1},
		{"and falls with it", func(busy float64) float64 { return busy * busy / 1e4 }, 0.9},
	} {
		c := newCinnamon()
		c.target = 1000 // nothing is slow
		for i := range cinnamonIntervals {
			if i == cinnamonIntervals-1 && c.limit <= 100 {
				t.Errorf("%s: limit is %v before there are intervals enough", tc.what, c.limit)
			}
			c.limit = 100
			c.update(tc.service(100+float64(i)), 100+float64(i))
		}
		if got := c.limit / 100; math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("%s: limit became %v of what it was, want %v", tc.what, got, tc.want)
		}
	}
}

func TestCinnamonGrowsOnlyInUse(t *testing.T) {
	c := newCinnamon()
	c.target = 1
	if c.update(1, 9); c.limit != 20 {
		t.Errorf("9 of 20 used: limit is %v", c.limit)
	}
	if c.update(1, 11); c.limit <= 20 {
		t.Errorf("11 of 20 used: limit is %v", c.limit)
	}
}

// A back end that stays slower is the new normal in a minute or two.
func TestCinnamonSetsItsTargetAnew(t *testing.T) {
	l := newLane(t, "cinnamon")
	l.run(10*time.Second, 100, 100*ms)
	was := l.law.Limit()
	l.run(19*time.Second, 100, 5*time.Second) // the first target is half a minute old at most
	low := l.law.Limit()
	l.run(2*time.Minute, 100, 5*time.Second)
	if got := l.law.Limit(); low > was/2 || got <= 2*low {
		t.Errorf("limit is %d, was %d while the target was old and %d before", got, low, was)
	}
}
