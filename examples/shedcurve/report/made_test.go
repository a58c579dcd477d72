package report

import (
	"math"
	"time"
)

// made is a made-up report that looks like a real one: capacity 300/s, the arm
// without Spillway collapses, the other sheds t5 first and then t2.
func made() Report {
	r := Report{
		CapacityRPS: 300, DeadlineMS: 500, Seed: 1<<63 + 1, GeneratorLagP99MS: 1.25,
		StartedAt: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), GoVersion: "go1.26.0",
	}
	off, on := Arm{Name: ArmOff}, Arm{Name: ArmOn}
	for _, x := range []float64{0.5, 0.8, 1, 1.5, 2, 3, 5, 10} {
		off.Points = append(off.Points, madeOff(x))
		on.Points = append(on.Points, madeOn(x))
	}
	r.Arms = []Arm{off, on}
	return r
}

func madeOff(x float64) Point {
	const seconds = 6
	p := madePoint(x, min(x, 1)*math.Exp(-2*max(0, x-1)))
	p.Admitted = p.Offered
	p.Failed = p.Offered - p.Good
	p.AdmittedP50MS, p.AdmittedP99MS = new(8+480*min(1, max(0, x-.9))), new(40+900*min(2, max(0, x-.9)))
	p.GoroutinesPeak, p.HeapPeakBytes, p.CPUSeconds = new(int(60+800*max(0, x-1))), new(int64(12e6+x*2e7)), new(seconds*min(x, 1))
	for name, part := range madeParts {
		n := int(part * float64(p.Offered))
		p.Tiers[name] = Tally{Offered: n, Good: int(float64(n) * p.GoodputRPS / p.OfferedRPS)}
	}
	return p
}

func madeOn(x float64) Point {
	p := madePoint(x, min(x, 0.97))
	p.Shed = p.Offered - p.Good
	p.Admitted = p.Good
	p.AdmittedP50MS, p.AdmittedP99MS = new(8+4*min(x, 1.5)), new(40+22*min(x, 2))
	p.GoroutinesPeak, p.HeapPeakBytes, p.CPUSeconds = new(int(40+30*x)), new(int64(12e6+x*1e6)), new(6*min(x, 1))
	left := p.Good
	for _, name := range []string{"t1", "t2", "t5"} {
		n := int(madeParts[name] * float64(p.Offered))
		good := min(n, left)
		left -= good
		p.Tiers[name] = Tally{Offered: n, Good: good, Shed: n - good}
	}
	if p.Shed > 0 {
		p.Reasons["priority"], p.Reasons["queue-timeout"] = p.Shed*9/10, p.Shed/10
		p.RetryAfter = RetryAfter{Min: new(1.0), Max: new(4.0), Distinct: 4}
	}
	return p
}

var madeParts = map[string]float64{"t1": 0.35, "t2": 0.4, "t5": 0.25}

func madePoint(x, goodput float64) Point {
	const capacity, seconds = 300.0, 6.0
	offered, good := x*capacity*seconds, goodput*capacity*seconds
	return Point{
		X: x, OfferedRPS: offered / seconds, GoodputRPS: good / seconds, DurationS: seconds,
		Offered: int(offered), Good: int(good), LagP99MS: 1.25, Valid: true,
		Tiers: map[string]Tally{}, Reasons: map[string]int{},
		Tenants: map[string]Tally{
			"acme":                             {Offered: int(offered / 2), Good: int(good / 2)},
			"<script>alert('tenant')</script>": {Offered: int(offered / 2), Good: int(good / 2)},
		},
	}
}
