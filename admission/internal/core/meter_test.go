package core

import (
	"math"
	"testing"
	"time"

	"github.com/spillway-go/spillway/pid"
)

// flow is steady traffic of a lane: per second so many arrive and are shed or
// fail, and so many of its slots are used.
type flow struct {
	arrive, shed, fail uint64
	used               float64
	limit              int
}

// pass is what a Meter says that sees the flow for so many periods.
func (f flow) pass(m *Meter, r *Reading, dt time.Duration, periods int) {
	perSecond := time.Second / dt
	for range periods {
		r.Limit = f.limit
		r.Area += f.used * dt.Seconds()
		r.Arrived += f.arrive / uint64(perSecond)
		r.Shed += f.shed / uint64(perSecond)
		r.Failed += f.fail / uint64(perSecond)
		m.Look(dt, *r)
	}
}

func isClose(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*math.Max(1, math.Abs(want)) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestMeterTellsDemand(t *testing.T) {
	for _, tt := range []struct {
		name        string
		flow        flow
		qps, eps, u float64
	}{
		{"nothing", flow{limit: 10}, 0, 0, leastUtilization},
		{"half full", flow{arrive: 100, used: 5, limit: 10}, 100, 0, 0.5},
		{"failures are errors and no demand", flow{arrive: 100, fail: 50, used: 5, limit: 10}, 100, 50, 0.5},
		{"four times what it can do", flow{arrive: 400, shed: 300, used: 10, limit: 10}, 400, 300, 4},
		{"sheds for a signal with slots free", flow{arrive: 400, shed: 100, used: 1, limit: 10}, 400, 100, 4.0 / 3},
		{"one in 400 is shed by chance", flow{arrive: 400, shed: 10, used: 4, limit: 10}, 400, 10, 1 / 0.975},
		{"sheds all", flow{arrive: 100, shed: 100, limit: 10}, 100, 100, 100},
		{"a single short request", flow{arrive: 10, used: 1e-4, limit: 10}, 10, 0, 1e-5},
	} {
		for _, periods := range []int{1, 100} { // the first reading tells as much as all later ones
			var m Meter
			var r Reading
			tt.flow.pass(&m, &r, 100*time.Millisecond, periods)
			qps, eps := m.Rates()
			isClose(t, tt.name+": arrivals", qps, tt.qps)
			isClose(t, tt.name+": errors", eps, tt.eps)
			isClose(t, tt.name+": utilization", m.Utilization(), tt.u)
		}
	}
}

// What a lane can do is arrivals over utilization, whatever it is offered: that is what weights go by.
func TestMeterTellsWhatTheLaneCanDo(t *testing.T) {
	const capacity, limit = 1000, 10
	for _, offered := range []uint64{10, 500, 1000, 2000, 10_000} {
		served := min(offered, capacity)
		var m Meter
		var r Reading
		flow{arrive: offered, shed: offered - served, used: limit * float64(served) / capacity, limit: limit}.pass(&m, &r, 100*time.Millisecond, 5)
		qps, _ := m.Rates()
		isClose(t, "capacity", qps/m.Utilization(), capacity)
	}
}

func TestMeterForgets(t *testing.T) {
	var m Meter
	var r Reading
	flow{arrive: 400, shed: 300, used: 10, limit: 10}.pass(&m, &r, 100*time.Millisecond, 50)
	calm := flow{arrive: 100, used: 2, limit: 10}
	calm.pass(&m, &r, 100*time.Millisecond, 1)
	if u := m.Utilization(); u < 3 || u > 4 {
		t.Errorf("after 0.1 s of calm: %v, want somewhat less than 4", u)
	}
	calm.pass(&m, &r, 100*time.Millisecond, 100)
	if u := m.Utilization(); math.Abs(u-0.2) > 0.001 {
		t.Errorf("after 10 s of calm: %v, want 0.2", u)
	}
	flow{arrive: 400, shed: 300, used: 1, limit: 10}.pass(&m, &r, 100*time.Millisecond, 50)
	flow{limit: 10}.pass(&m, &r, 100*time.Millisecond, 200)
	if u := m.Utilization(); u > 0.001 {
		t.Errorf("20 s after a service that shed has lost all traffic: %v", u)
	}
	flow{arrive: 100, used: 2, limit: 10}.pass(&m, &r, 100*time.Millisecond, 100)
	m.Look(0, Reading{})
	m.Look(-time.Second, Reading{})
	if u := m.Utilization(); math.Abs(u-0.2) > 0.001 {
		t.Errorf("readings that are no later change it to %v", u)
	}
}

// A few shed requests do not make a half empty lane look full, many do, and in between it rises steadily.
func TestMeterHasNoJump(t *testing.T) {
	last := 0.3
	for shed := range uint64(21) {
		var m Meter
		var r Reading
		flow{arrive: 1000, shed: shed, used: 3, limit: 10}.pass(&m, &r, time.Second, 1)
		u := m.Utilization()
		if u < last || u-last > 0.15 {
			t.Errorf("%d of 1000 shed: %v after %v", shed, u, last)
		}
		last = u
	}
	if last <= 1 {
		t.Errorf("2 %% shed: %v, want above 1", last)
	}
}

func TestReadingLeavesOutWhoIsCapped(t *testing.T) {
	l := newLane(t, Config{Limit: pid.LimitConfig{Fixed: 4}, Deadline: time.Minute})
	for _, why := range []Reason{ReasonTenantCap, ReasonKeyed, ReasonDeadline, ReasonRegulator, ReasonStage} {
		l.Refuse(0, why, false)
	}
	l.Refuse(0, ReasonRegulator, true) // runs all the same
	for i, o := range []Outcome{Success, Overload, Failure, Ignore} {
		c := call(i, 1, 0)
		l.Offer(c.Rank, 0, false)
		l.Arrive(0, c, 0.5, true)
		l.Release(time.Second, c, o)
	}
	r := l.Reading(10 * time.Second)
	if want := (Reading{Limit: 4, Area: 1, Arrived: 8, Shed: 3, Failed: 2}); r != want {
		t.Errorf("%+v, want %+v", r, want)
	}
	c := call(0, 2, 0)
	l.Arrive(10*time.Second, c, 0.5, true)
	if r := l.Reading(11 * time.Second); r.Area != 3 {
		t.Errorf("area %v with two slots taken for a second, want 3: what still runs counts", r.Area)
	}
}
