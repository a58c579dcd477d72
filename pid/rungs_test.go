package pid_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spillway-go/spillway/pid"
)

// core is a back end of one core which each request more slows down by a share, and
// which is never quite as fast as the moment before. 300/s is what it does of one.
func core(share float64) func(int) flow {
	rng := rand.New(rand.NewPCG(1, 1))
	return func(limit int) flow {
		x := float64(limit)
		rate := 300 / (1 + share*(x-1)) * math.Exp(0.1*rng.NormFloat64())
		return full(rate, time.Duration(x/rate*1e9))(limit)
	}
}

// average runs d of a back end and returns the limit's mean.
func (l *lane) average(d time.Duration, backend func(int) flow) float64 {
	sum, n := 0, 0
	for end := l.now + d; l.now < end; n++ {
		l.runAs(l.step, backend)
		sum += l.law.Limit()
	}
	return float64(sum) / float64(n)
}

// One slot is twice as much as none, and more than any tolerance: where the second serves
// less, or nothing, the limit stays at one, but for a look now and then.
func TestOneSlotIsEnough(t *testing.T) {
	for _, tc := range []struct {
		share, most float64
	}{
		{0.16, 1.15}, // SQLite
		{0.05, 1.2},
		{0, 1.5}, // which takes longer to be sure of
	} {
		l := newLane(t, pid.LimitConfig{})
		l.use.Deadline = 250 * ms
		l.average(10*time.Second, core(tc.share))
		if got := l.average(40*time.Second, core(tc.share)); got > tc.most {
			t.Errorf("share %v: mean limit is %.2f, want at most %.2f", tc.share, got, tc.most)
		}
	}
}

// Slots that serve more are kept: those of two servers, and those of a soft back end.
func TestEachSlotThatServesIsKept(t *testing.T) {
	for name, tc := range map[string]struct {
		backend func(int) flow
		least   float64
	}{
		"2 servers of 3 ms":   {servers(2, 3*ms), 1.95},
		"3 servers of 3 ms":   {servers(3, 3*ms), 2.9},
		"2 servers of 200 ms": {servers(2, 200*ms), 1.95},
		"soft":                {soft, 2},
	} {
		l := newLane(t, pid.LimitConfig{})
		l.use.Deadline = 250 * ms
		l.average(20*time.Second, tc.backend)
		if got := l.average(time.Minute, tc.backend); got < tc.least {
			t.Errorf("%s: mean limit is %.2f, want at least %.2f", name, got, tc.least)
		}
	}
}

// What was seen fades: a back end that has got another core is found out.
func TestASecondCoreIsFound(t *testing.T) {
	l := newLane(t, pid.LimitConfig{})
	l.use.Deadline = 250 * ms
	l.average(time.Minute, core(0.16))
	l.limitIs("one core", 1, 2)
	l.average(20*time.Second, servers(4, 3300*time.Microsecond))
	l.measured(servers(4, 3300*time.Microsecond))
	l.limitIs("four", 4, 8)
}

// A slow back end whose second slot did harm, and has got more capacity: what was seen for
// half an hour does not hold it down for minutes.
func TestSlotsThatCameToServeAreFound(t *testing.T) {
	for _, tc := range []struct{ rate, share float64 }{{30, 1}, {10, 1}, {10, 3}, {3, 3}} {
		l, service := newLane(t, pid.LimitConfig{}), time.Duration(1e9/tc.rate)
		l.use.Deadline = max(250*ms, 4*service)
		l.average(32*time.Minute, func(limit int) flow {
			x := float64(limit)
			rate := tc.rate / (1 + tc.share*(x-1))
			return full(rate, time.Duration(x/rate*1e9))(limit)
		})
		l.average(time.Minute, servers(4, service))
		if got := l.average(30*time.Second, servers(4, service)); got < 3 {
			t.Errorf("%v/s, share %v: after a minute the mean limit is %.2f of 4", tc.rate, tc.share, got)
		}
	}
}
