package simulate

import (
	"fmt"
	"slices"
	"time"

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
// lane and with each contender's. Nobody tries again: what a curve counts is requests.
func (o *options) curve(s sim.Scenario) (report.Report, error) {
	s.StepAtS, s.Client.Retry = 0, ""
	if len(s.Requests) == 0 {
		s.DurationS = s.MeasureFromS + min(max(pointRequests/s.CapacityRPS, pointLeast), pointMost)
	}
	out := report.Report{
		CapacityRPS: s.CapacityRPS, DeadlineMS: s.Client.DeadlineMS, Seed: s.Seed,
		Note: fmt.Sprintf("Simulated: the back end of scenario %s in virtual time.", s.Name),
	}
	arms := append([]contender{{name: report.ArmOff, config: admission.Config{Mode: admission.Off}}}, o.contenders...)
	if len(o.contenders) == 1 {
		arms[1].name = report.ArmOn
	}
	for _, arm := range arms {
		a := report.Arm{Name: arm.name}
		for _, x := range loads {
			r, err := arm.run(o.front, atLoad(s, x))
			if err != nil {
				return out, err
			}
			a.Points = append(a.Points, point(x, &r))
		}
		out.Arms = append(out.Arms, a)
	}
	return out, nil
}

// atLoad is s at a steady x times the capacity. Of a log the requests come so much faster
// or slower, each with its own service time; its ups and downs stay.
func atLoad(s sim.Scenario, x float64) sim.Scenario {
	if len(s.Requests) == 0 {
		s.Load = sim.Arrivals{Points: []sim.Point{{0, x}}}
		return s
	}
	faster := x * s.CapacityRPS * s.DurationS / float64(len(s.Requests))
	s.Requests = slices.Clone(s.Requests)
	for i := range s.Requests {
		s.Requests[i].At = time.Duration(float64(s.Requests[i].At) / faster)
	}
	s.DurationS, s.MeasureFromS = s.DurationS/faster, s.MeasureFromS/faster
	return s
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
