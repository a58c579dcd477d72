package pid_test

import (
	"testing"
	"time"

	"github.com/spillway-go/spillway/pid"
)

// A downstream that became ten times slower without losing capacity (80 servers
// all the while) must not pin the limit to its floor, whatever the floor is.
func TestOctaveLeavesItsFloorWhenTheBackEndIsMerelySlower(t *testing.T) {
	for _, floor := range []int{1, 4, 8, 20} {
		l := newLane(t, pid.LimitConfig{Min: floor})
		l.use.Deadline = 5 * time.Second
		l.runAs(3*time.Minute, servers(80, 10*ms))
		l.limitIs("fast", 60, 250)
		l.runAs(15*time.Minute, servers(80, 100*ms))
		if got := l.law.Limit(); got < 60 {
			t.Errorf("floor %d: 15 minutes after the back end became slower the limit is %d of 80 servers (%+v)", floor, got, l.state())
		}
		// The same when it becomes slower while the limit is at its floor.
		l = newLane(t, pid.LimitConfig{Min: floor})
		l.use.Deadline = 5 * time.Second
		l.run(time.Minute, flow{rate: 20, service: 10 * ms, busy: 0.2})
		l.runAs(15*time.Minute, servers(80, 100*ms))
		if got := l.law.Limit(); got < 60 {
			t.Errorf("floor %d: slower when load comes: the limit is %d of 80 servers (%+v)", floor, got, l.state())
		}
	}
}

// The same whenever it becomes slower, also soon after probes that found nothing new.
func TestOctaveProbesBeforeItIsAtItsFloor(t *testing.T) {
	for after := 20 * time.Second; after < 60*time.Second; after += time.Second {
		l := newLane(t, pid.LimitConfig{})
		l.use.Deadline = 2 * time.Second
		l.runAs(after, servers(40, 20*ms))
		l.runAs(20*time.Second, servers(40, 200*ms))
		if got := l.law.Limit(); got < 20 {
			t.Errorf("20 s after the back end became slower, %v after the start, the limit is %d of 40 servers (%+v)", after, got, l.state())
		}
	}
}
