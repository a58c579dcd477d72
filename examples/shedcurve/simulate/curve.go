package simulate

import (
	"fmt"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/sim"
	"github.com/spillway-go/spillway/examples/shedcurve/report"
)

// loads are those of a shed curve, in multiples of capacity.
var loads = []float64{0.5, 0.8, 1, 1.5, 2, 3, 5, 10}

// A point of a curve is held long enough for this many requests at capacity, but
// not for longer or shorter than these seconds.
const (
	pointRequests = 20_000
	pointLeast    = 5.0
	pointMost     = 30.0
)

// curve runs a scenario's back end and clients under steady loads, without the
// lane and with it. Nobody tries again: what a curve counts is requests.
func (o *options) curve(s sim.Scenario) (report.Report, error) {
	s.StepAtS, s.Client.Retry = 0, ""
	s.DurationS = s.MeasureFromS + min(max(pointRequests/s.CapacityRPS, pointLeast), pointMost)
	out := report.Report{
		CapacityRPS: s.CapacityRPS, DeadlineMS: s.Client.DeadlineMS, Seed: s.Seed,
		Note: fmt.Sprintf("Simulated: the back end of scenario %s in virtual time.", s.Name),
		Arms: []report.Arm{{Name: report.ArmOff}, {Name: report.ArmOn}},
	}
	off := options{config: admission.Config{Mode: admission.Off}, front: o.front}
	for i, arm := range []*options{&off, o} {
		for _, x := range loads {
			s.Load = sim.Arrivals{Points: []sim.Point{{0, x}}}
			r, err := arm.once(s)
			if err != nil {
				return out, err
			}
			out.Arms[i].Points = append(out.Arms[i].Points, point(x, &r))
		}
	}
	return out, nil
}

func point(x float64, r *sim.Report) report.Point {
	p := report.Point{
		X: x, OfferedRPS: float64(r.Requests) / r.Seconds, GoodputRPS: r.Goodput,
		Offered: int(r.Requests), Good: int(r.Good), Admitted: int(r.Good + r.Late), Failed: int(r.Late + r.Left),
		Tiers: map[string]report.Tally{}, Reasons: map[string]int{}, DurationS: r.Seconds, Valid: true,
	}
	if p.Admitted > 0 {
		p50, p99 := r.P50.Seconds()*1000, r.P99.Seconds()*1000
		p.AdmittedP50MS, p.AdmittedP99MS = &p50, &p99
	}
	for why, n := range r.Shed {
		if n > 0 {
			p.Shed += int(n)
			p.Reasons[admission.Reason(why).String()] = int(n)
		}
	}
	for i := range r.Tiers {
		t := &r.Tiers[i]
		if t.Requests == 0 {
			continue
		}
		shed := 0
		for _, n := range t.Shed {
			shed += int(n)
		}
		p.Tiers[fmt.Sprintf("t%d", i)] = report.Tally{Offered: int(t.Requests), Good: int(t.Good), Shed: shed}
	}
	return p
}
