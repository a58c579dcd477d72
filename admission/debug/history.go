package debug

import (
	"slices"
	"time"

	"github.com/spillway-go/spillway/admission"
)

const (
	// rateWindow is what "per second" is measured over: short enough to follow what
	// is done about it, long enough that a lane of a few requests a second shows any.
	rateWindow = 10 * time.Second
	// gap between two moments is where a line breaks: the controller slept.
	gap = 3 * time.Second
)

// follow fills in what only the last minutes tell: rates and points.
func (r *laneReport) follow(moments []admission.Moment, now time.Time) {
	var before *admission.LaneMoment
	var beforeAt time.Time
	var since time.Duration
	for _, m := range moments {
		i := slices.IndexFunc(m.Lanes, func(l admission.LaneMoment) bool { return l.Name == r.Name })
		if i < 0 {
			continue
		}
		l := &m.Lanes[i]
		r.Points = append(r.Points, pointOf(m.At, l, before, m.At.Sub(beforeAt)))
		if age := now.Sub(m.At); since == 0 && age <= rateWindow && age >= time.Second/2 {
			since = age
			r.rates(l, since)
		}
		before, beforeAt = l, m.At
	}
}

func pointOf(at time.Time, l, before *admission.LaneMoment, since time.Duration) point {
	p := point{
		At: at, Limit: l.Limit, Inflight: l.Inflight, Queued: l.Queued, ShedRatio: l.ShedRatio,
		Threshold: l.Threshold, Binding: l.Binding, MedianS: l.Median.Seconds(),
	}
	if before == nil {
		return p
	}
	for t := range l.Arrived {
		p.OfferedPerS += perSecond(l.Arrived[t], before.Arrived[t], since)
		p.AdmittedPerS += perSecond(l.Admitted[t], before.Admitted[t], since)
		p.ShedPerS += perSecond(l.Shed[t], before.Shed[t], since)
	}
	return p
}

// rates compares what was counted until now with what it was a while ago.
func (r *laneReport) rates(then *admission.LaneMoment, since time.Duration) {
	for t := range r.Tiers {
		tier := &r.Tiers[t]
		tier.OfferedPerS = perSecond(tier.Arrived, then.Arrived[t], since)
		tier.AdmittedPerS = perSecond(tier.Admitted, then.Admitted[t], since)
		tier.ShedPerS = perSecond(tier.Shed+tier.WouldShed, then.Shed[t], since)
	}
	for i := range r.Reasons {
		reason := &r.Reasons[i]
		reason.PerS = perSecond(reason.Total, then.Reasons[reason.why], since)
	}
}

// perSecond of a counter, which may have gone back by one.
func perSecond(now, then uint64, since time.Duration) float64 {
	if now <= then || since <= 0 {
		return 0
	}
	return float64(now-then) / since.Seconds()
}

func signalPoints(name string, moments []admission.Moment) []signalPoint {
	points := []signalPoint{}
	for _, m := range moments {
		for _, s := range m.Signals {
			if s.Name == name {
				points = append(points, signalPoint{At: m.At, Setpoint: s.Setpoint, Pressure: s.Pressure, Stale: s.Stale})
			}
		}
	}
	return points
}
