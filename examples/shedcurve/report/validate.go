package report

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Validate says what is wrong with the report, all of it at once: each error
// names the field as it is called in JSON, its value and the rule. Numbers
// must lie within 0 and 1e15 (where they are still exact for whoever reads the
// JSON), loads within 1e-6 and 1e6, arms must be named and their names differ.
// Nil pointers and maps are fine: not measured.
func (r Report) Validate() error {
	var c checker
	c.number("capacity_rps", r.CapacityRPS)
	c.number("deadline_ms", r.DeadlineMS)
	c.number("generator_lag_p99_ms", r.GeneratorLagP99MS)
	seen := make(map[string]bool)
	for i, a := range r.Arms {
		at := fmt.Sprintf("arms[%d].", i)
		if a.Name == "" || seen[a.Name] {
			c.fail(at+"name", strconv.Quote(a.Name), "must be given and differ from the other arms'")
		}
		seen[a.Name] = true
		for j, p := range a.Points {
			c.point(fmt.Sprintf("%spoints[%d].", at, j), p)
		}
	}
	return errors.Join(c.errs...)
}

type checker struct{ errs []error }

func (c *checker) fail(field string, value any, rule string) {
	c.errs = append(c.errs, fmt.Errorf("report: %s: %v: %s", field, value, rule))
}

func (c *checker) number(field string, v float64) {
	if !(v >= 0 && v <= 1e15) { // so written, NaN fails too
		c.fail(field, v, "must be within 0 and 1e15")
	}
}

func (c *checker) optional(field string, v *float64) {
	if v != nil {
		c.number(field, *v)
	}
}

func (c *checker) point(at string, p Point) {
	if !(p.X >= 1e-6 && p.X <= 1e6) {
		c.fail(at+"x", p.X, "must be within 1e-6 and 1e6")
	}
	c.number(at+"offered_rps", p.OfferedRPS)
	c.number(at+"goodput_rps", p.GoodputRPS)
	c.number(at+"duration_s", p.DurationS)
	c.number(at+"lag_p99_ms", p.LagP99MS)
	if !(p.LeftOut >= 0 && p.LeftOut <= 1) {
		c.fail(at+"left_out", p.LeftOut, "must be within 0 and 1")
	}
	c.optional(at+"speed", p.Speed)
	for i, v := range p.Speeds {
		c.number(fmt.Sprintf("%sspeeds[%d]", at, i), v)
	}
	c.optional(at+"admitted_p50_ms", p.AdmittedP50MS)
	c.optional(at+"admitted_p99_ms", p.AdmittedP99MS)
	c.optional(at+"retry_after_s.min", p.RetryAfter.Min)
	c.optional(at+"retry_after_s.max", p.RetryAfter.Max)
	c.optional(at+"cpu_s", p.CPUSeconds)
	c.number(at+"offered", float64(p.Offered))
	c.number(at+"good", float64(p.Good))
	c.number(at+"admitted", float64(p.Admitted))
	c.number(at+"shed", float64(p.Shed))
	c.number(at+"failed", float64(p.Failed))
	c.number(at+"retry_after_s.distinct", float64(p.RetryAfter.Distinct))
	if p.GoroutinesPeak != nil {
		c.number(at+"goroutines_peak", float64(*p.GoroutinesPeak))
	}
	if p.HeapPeakBytes != nil {
		c.number(at+"heap_peak_bytes", float64(*p.HeapPeakBytes))
	}
	c.tallies(at+"tiers", p.Tiers)
	c.tallies(at+"tenants", p.Tenants)
	for _, name := range slices.Sorted(maps.Keys(p.Reasons)) {
		c.number(fmt.Sprintf("%sreasons[%q]", at, name), float64(p.Reasons[name]))
	}
}

func (c *checker) tallies(at string, m map[string]Tally) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		t := m[name]
		c.number(fmt.Sprintf("%s[%q].offered", at, name), float64(t.Offered))
		c.number(fmt.Sprintf("%s[%q].good", at, name), float64(t.Good))
		c.number(fmt.Sprintf("%s[%q].shed", at, name), float64(t.Shed))
	}
}
