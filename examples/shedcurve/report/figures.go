package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// prepared is what the writers work on: the report checked, its points by
// rising load, its lists and maps empty instead of nil (so that readers of the
// JSON need not tell null from empty). The report itself stays as it is.
func (r Report) prepared() (Report, error) {
	if err := r.Validate(); err != nil {
		return Report{}, err
	}
	r.Arms = append([]Arm{}, r.Arms...)
	for i := range r.Arms {
		ps := append([]Point{}, r.Arms[i].Points...)
		slices.SortStableFunc(ps, func(a, b Point) int { return cmp.Compare(a.X, b.X) })
		for j := range ps {
			ps[j].Tiers = orEmpty(ps[j].Tiers)
			ps[j].Tenants = orEmpty(ps[j].Tenants)
			ps[j].Reasons = orEmpty(ps[j].Reasons)
		}
		r.Arms[i].Points = ps
	}
	return r, nil
}

func orEmpty[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}

// loads are the different loads that were offered, rising.
func (r Report) loads() []float64 {
	set := make(map[float64]bool)
	for _, a := range r.Arms {
		for _, p := range a.Points {
			set[p.X] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// names are the keys that the map chosen by of has at any of the arms' points.
func names[V any](arms []Arm, of func(Point) map[string]V) []string {
	set := make(map[string]bool)
	for _, a := range arms {
		for _, p := range a.Points {
			for name := range of(p) {
				set[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

func tiersOf(p Point) map[string]Tally   { return p.Tiers }
func tenantsOf(p Point) map[string]Tally { return p.Tenants }
func reasonsOf(p Point) map[string]int   { return p.Reasons }

// anyInvalid reports whether some point is not to be trusted.
func (r Report) anyInvalid() bool {
	return slices.ContainsFunc(r.Arms, func(a Arm) bool {
		return slices.ContainsFunc(a.Points, func(p Point) bool { return !p.Valid })
	})
}

// leftOut says how much was not counted, and why; empty when all was.
func (r Report) leftOut() string {
	var sum, points float64
	some := 0
	for _, a := range r.Arms {
		for _, p := range a.Points {
			points++
			sum += p.LeftOut
			if p.LeftOut > 0 {
				some++
			}
		}
	}
	if some == 0 {
		return ""
	}
	return fmt.Sprintf("Left out: %s of the time, at %d of %.0f points, because the machine was faster or slower then than when the capacity was measured.",
		share(sum, points), some, points)
}

// label is the arm's name in prose.
func (a Arm) label() string {
	switch a.Name {
	case ArmOff:
		return "without Spillway"
	case ArmOn:
		return "with Spillway"
	}
	return a.Name
}

// headline is the finding in one sentence, at the highest load for which all
// arms have a point that can be trusted; empty when there is none.
func (r Report) headline() string {
	if r.CapacityRPS == 0 {
		return ""
	}
	for _, x := range slices.Backward(r.loads()) {
		var kept []string
		for _, a := range slices.Backward(r.Arms) { // what protects comes first
			i := slices.IndexFunc(a.Points, func(p Point) bool { return p.X == x && p.Valid })
			if i < 0 {
				break
			}
			s := fmt.Sprintf("%.0f%%", 100*r.Share(a.Points[i]))
			if len(kept) == 0 {
				s += " of it as goodput"
			}
			switch a.Name {
			case ArmOff, ArmOn:
				s += " " + a.label()
			default:
				s += " (" + a.Name + ")"
			}
			kept = append(kept, s)
		}
		if len(kept) == len(r.Arms) {
			return fmt.Sprintf("Offered %s× its capacity, the service keeps %s", multiple(x), strings.Join(kept, ", "))
		}
	}
	return ""
}

// conditions are what the reader must know to judge the figures.
func (r Report) conditions() [][2]string {
	c := [][2]string{
		{"capacity", orElse(r.CapacityRPS, " requests/s", "not known")},
		{"deadline", orElse(r.DeadlineMS, " ms", "none")},
		{"arrivals", "open loop, Poisson"},
		{"seed", strconv.FormatUint(r.Seed, 10)},
		{"generator lag p99", number(r.GeneratorLagP99MS) + " ms"},
	}
	if !r.StartedAt.IsZero() {
		c = append(c, [2]string{"started", r.StartedAt.Format("2006-01-02 15:04 MST")})
	}
	if r.Customers > 0 {
		c = append(c, [2]string{"customers", strconv.Itoa(r.Customers)})
	}
	if r.GoVersion != "" {
		c = append(c, [2]string{"built with", r.GoVersion})
	}
	return c
}

func orElse(v float64, unit, otherwise string) string {
	if v == 0 {
		return otherwise
	}
	return number(v) + unit
}

// number shows a measured figure with as many decimals as can matter: 0.05,
// 4.2, 98.6, 301, 12345.
func number(v float64) string {
	unit := 1.0
	switch {
	case v < 10:
		unit = 100
	case v < 100:
		unit = 10
	}
	return strconv.FormatFloat(math.Round(v*unit)/unit, 'f', -1, 64)
}

// multiple shows an offered load, which was chosen and so is not rounded.
func multiple(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

// optional is empty for a figure that was not measured.
func optional(v *float64) string {
	if v == nil {
		return ""
	}
	return number(*v)
}

// share is part of whole in percent, and empty where there is no whole. None
// and all are said only of none and all: 99.97 % is not 100 %.
func share(part, whole float64) string {
	if whole == 0 {
		return ""
	}
	switch s := strconv.FormatFloat(100*part/whole, 'f', 1, 64); {
	case s == "0.0" && part > 0:
		return "<0.1%"
	case s == "100.0" && part < whole:
		return ">99.9%"
	default:
		return s + "%"
	}
}
