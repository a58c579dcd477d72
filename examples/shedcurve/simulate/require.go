package simulate

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A measure is something that can be required.
type measure struct {
	name, meaning string
	duration      bool // in ms; otherwise a share
	of            func(*row) *float64
}

var measures = []measure{
	{"goodput", "answers within the deadline, as a share of the requests that could have been answered: those of each second, at most the capacity", false, func(r *row) *float64 { return r.GoodputShare }},
	{"p50", "median latency of the admitted, from when they came", true, func(r *row) *float64 { return r.P50MS }},
	{"p99", "99th percentile of that", true, func(r *row) *float64 { return r.P99MS }},
	{"p999", "99.9th percentile of that", true, func(r *row) *float64 { return r.P999MS }},
	served("t0"), served("t1"), served("t2"), served("t3"), served("t4"), served("t5"),
	{"shed", "share of attempts, retries included, that were refused", false, func(r *row) *float64 { return &r.Shed }},
	{"inversion", "share of the answers that better tiers should have had", false, func(r *row) *float64 { return &r.Inversion }},
	{"settle", "from the scenario's step until goodput is steady, in the median of the runs, all of which must get there", true, func(r *row) *float64 {
		if r.SettleS == nil || r.Settled < r.Seeds {
			return nil
		}
		v := 1000 * *r.SettleS
		return &v
	}},
	{"regret", "share of the best fixed limit's goodput that is missed, with -oracle", false, func(r *row) *float64 { return r.Regret }},
}

func served(tier string) measure {
	return measure{tier, "share of the tier's requests answered within the deadline", false, func(r *row) *float64 {
		t, ok := r.Tiers[tier]
		if !ok {
			return nil
		}
		return &t.Served
	}}
}

// measureNames are all of them.
func measureNames() string {
	var names []string
	for _, m := range measures {
		names = append(names, m.name)
	}
	return strings.Join(names, ", ")
}

// requireHelp says what can be required.
func requireHelp() string {
	var b strings.Builder
	b.WriteString("A term is a name, one of >=, <=, > and <, and a value: a share (0.95 or 95%) or a duration (50ms). Terms are\nseparated by spaces or commas. What was not measured, such as a tier without requests, is not met. The names are\n\n")
	for _, m := range measures {
		fmt.Fprintf(&b, "  %-10s %s\n", m.name, m.meaning)
	}
	return b.String()
}

// requirement is a term.
type requirement struct {
	measure measure
	op      string
	value   float64 // a share, or ms
	text    string  // as it was written
}

// ops, so that what begins with another comes after it.
var ops = []string{">=", "<=", ">", "<"}

// parseRequirements reads terms such as "goodput>=0.95 p99<=50ms"; there may be none.
// The error tells all that is wrong, by term.
func parseRequirements(text string) (all []requirement, err error) {
	var errs []error
	for i, term := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' || r == '\n' }) {
		r, err := parseRequirement(term)
		if err != nil {
			errs = append(errs, fmt.Errorf("-require: term %d, %.64q: %w", i+1, term, err))
			continue
		}
		all = append(all, r)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return all, nil
}

func parseRequirement(term string) (requirement, error) {
	at := strings.IndexAny(term, "<>")
	if at < 0 {
		return requirement{}, fmt.Errorf("must be a name, one of %s, and a value, such as goodput>=0.95, without spaces", strings.Join(ops, " "))
	}
	name := term[:at]
	i := slices.IndexFunc(measures, func(m measure) bool { return m.name == name })
	if i < 0 {
		return requirement{}, fmt.Errorf("name %.32q must be one of %s", name, measureNames())
	}
	r := requirement{measure: measures[i], text: term}
	r.op = ops[slices.IndexFunc(ops, func(op string) bool { return strings.HasPrefix(term[at:], op) })]
	var err error
	r.value, err = r.measure.parse(term[at+len(r.op):])
	return r, err
}

const mostDuration = time.Hour

func (m measure) parse(text string) (float64, error) {
	if m.duration {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 || d > mostDuration {
			return 0, fmt.Errorf("value %.32q must be a duration from 0s to 1h with its unit, such as 50ms", text)
		}
		return ms(d), nil
	}
	number, percent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(number, 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 1) {
		return 0, fmt.Errorf("value %.32q must be a share from 0 to 1 or from 0%% to 100%%, such as 0.95 or 95%%", text)
	}
	return v, nil
}

func (r requirement) met(v float64) bool {
	switch r.op {
	case ">=":
		return v >= r.value
	case "<=":
		return v <= r.value
	case ">":
		return v > r.value
	}
	return v < r.value
}

// said is a measured value in the unit of the requirement.
func (r requirement) said(v *float64) string {
	switch {
	case v == nil:
		return "not measured"
	case r.measure.duration:
		return strconv.FormatFloat(*v, 'f', 1, 64) + "ms"
	case strings.HasSuffix(r.text, "%"):
		return strconv.FormatFloat(*v*100, 'f', 2, 64) + "%"
	}
	return strconv.FormatFloat(*v, 'f', 4, 64)
}

func needOracle(required []requirement) bool {
	return slices.ContainsFunc(required, func(r requirement) bool { return r.measure.name == "regret" })
}

// unmet is an error with a line for each requirement that a row does not meet.
func unmet(rows []row, required []requirement) error {
	var errs []error
	for i := range rows {
		for _, r := range required {
			if v := r.measure.of(&rows[i]); v == nil || !r.met(*v) {
				errs = append(errs, fmt.Errorf("%s with %s: %s is not met: %s is %s", rows[i].Scenario, rows[i].Config, r.text, r.measure.name, r.said(v)))
			}
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("requirements:\n%w", errors.Join(errs...))
}
