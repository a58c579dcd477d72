package pid_test

import (
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
