package sim

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-go/spillway/admission"
)

// logUnits are what a column's name may end in.
var logUnits = map[string]time.Duration{"s": time.Second, "ms": time.Millisecond, "us": time.Microsecond, "ns": time.Nanosecond}

// logColumns are what a log may have, those that it must have first.
var logColumns = []string{"time", "service_time", "lane", "tier", "tenant", "deadline"}

const (
	logRequired = 2   // of logColumns
	logErrors   = 100 // are told, of more their number
)

// ParseLog reads a recorded request log: CSV (RFC 4180) with a row for each
// request and a header that names the columns, in any order.
//
//	time           when the request came, required
//	service_time   how long it was worked on, waiting not counted, required
//	lane           of the config; without the column, or empty: default
//	tier           t0 to t5; without the column, or empty: t3
//	tenant         whose it is: one tenant's requests of a tier are shed together
//	deadline       how long the client waits; without the column, or empty: as the scenario says
//
// The unit of time, service_time and deadline is either the end of the column's name
// (time_s, service_time_ms, deadline_us; also _ns), and the values are numbers, or it
// stands with each value: 12.5ms. A time is then RFC 3339, such as
// 2026-03-01T12:00:00.25Z, or a duration. Times count from the earliest, so that seconds since
// 1970 serve as well; rows may come in any order, since most logs have them in
// that of the answers. A log has at most 2,000,000 requests within a day.
//
// The error tells all that is wrong, each with line and column, up to a hundred.
func ParseLog(r io.Reader) ([]Logged, error) {
	in := csv.NewReader(r)
	in.ReuseRecord = true
	in.TrimLeadingSpace = true
	p := logParser{csv: in}
	head, err := in.Read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("sim: line 1: is missing: must be a header such as time_s,service_time_ms,deadline_ms")
	case err != nil:
		return nil, fmt.Errorf("sim: %w", err)
	}
	p.head(head)
	if len(p.errs) > 0 {
		return nil, p.err() // of values in unknown columns nothing can be said
	}
	for {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			p.fail(fmt.Errorf("sim: %w", err))
			if !errors.As(err, new(*csv.ParseError)) || p.count > logErrors {
				break
			}
			continue
		}
		if len(p.log) == maxRequests {
			p.fail(fmt.Errorf("sim: line %d: must be at most %d requests", p.line(0), maxRequests))
			break
		}
		p.row(row)
	}
	if len(p.log) == 0 && p.count == 0 {
		p.fail(errors.New("sim: line 2: is missing: must be a request"))
	}
	if p.count > 0 {
		return nil, p.err()
	}
	return p.sorted()
}

// logParser reads rows.
type logParser struct {
	csv     *csv.Reader
	columns []logColumn
	log     []Logged
	dated   *bool // times are dates
	errs    []error
	count   int // of errors, also those that are not kept
}

// logColumn is a column's meaning: name is one of logColumns, written is what the
// header has, unit is 0 where the values have one.
type logColumn struct {
	name, written string
	unit          time.Duration
}

func (p *logParser) fail(err error) {
	if p.count++; p.count <= logErrors {
		p.errs = append(p.errs, err)
	}
}

func (p *logParser) err() error {
	if more := p.count - len(p.errs); more > 0 {
		return errors.Join(append(p.errs, fmt.Errorf("sim: and %d more errors", more))...)
	}
	return errors.Join(p.errs...)
}

// line is that of the row's field.
func (p *logParser) line(field int) int {
	line, _ := p.csv.FieldPos(field)
	return line
}

func (p *logParser) head(row []string) {
	seen := map[string]bool{}
	for i, written := range row {
		if i == 0 {
			written = strings.TrimPrefix(written, "\ufeff") // of programs that mark UTF-8
		}
		written = strings.TrimSpace(written)
		c := columnOf(written)
		switch {
		case c.name == "":
			p.fail(fmt.Errorf("sim: line 1, column %d is %q: must be one of %s; times may end in _s, _ms, _us or _ns", i+1, written, strings.Join(logColumns, ", ")))
		case seen[c.name]:
			p.fail(fmt.Errorf("sim: line 1, column %d is %q: there is a %s already", i+1, written, c.name))
		}
		seen[c.name] = true
		p.columns = append(p.columns, c)
	}
	for _, name := range logColumns[:logRequired] {
		if !seen[name] {
			p.fail(fmt.Errorf("sim: line 1: column %s is missing", name))
		}
	}
}

// columnOf is without a name if the header's is none of ours.
func columnOf(written string) logColumn {
	name := strings.ReplaceAll(written, " ", "_")
	c := logColumn{written: written}
	if i := strings.LastIndexByte(name, '_'); i > 0 && logUnits[name[i+1:]] > 0 {
		switch name[:i] {
		case "time", "service_time", "deadline":
			c.name, c.unit = name[:i], logUnits[name[i+1:]]
		}
		return c
	}
	if slices.Contains(logColumns, name) {
		c.name = name
	}
	return c
}

func (p *logParser) row(row []string) {
	l := Logged{Tier: admission.T3}
	for i, c := range p.columns {
		if rule := p.value(&l, c, strings.TrimSpace(row[i])); rule != "" {
			p.fail(fmt.Errorf("sim: line %d, column %s is %q: %s", p.line(i), c.written, row[i], rule))
		}
	}
	p.log = append(p.log, l)
}

// value puts a field where it belongs; rule is which one it breaks.
func (p *logParser) value(l *Logged, c logColumn, text string) (rule string) {
	switch c.name {
	case "time":
		l.At, rule = p.time(c, text)
	case "service_time":
		l.Service, rule = span(c, text)
	case "deadline":
		if text == "" {
			return ""
		}
		if l.Deadline, rule = span(c, text); rule == "" && l.Deadline == 0 {
			rule = "must be above 0, or empty"
		}
	case "lane":
		l.Lane = strings.Clone(text)
	case "tenant":
		l.Tenant = strings.Clone(text)
	case "tier":
		if text == "" {
			return ""
		}
		prio, err := admission.ParsePriority(text)
		if err != nil || len(text) != len("t0") {
			return "must be t0 to t5"
		}
		l.Tier = prio.Tier()
	}
	return rule
}

// number reads a value whose unit the column has, up to most.
func number(c logColumn, text string, most time.Duration) (time.Duration, string) {
	v, err := strconv.ParseFloat(text, 64)
	ns := math.Round(v * float64(c.unit))
	if err != nil || !(ns >= 0 && ns <= float64(most)) {
		return 0, fmt.Sprintf("must be a number from 0 to %v", float64(most)/float64(c.unit))
	}
	return time.Duration(ns), ""
}

// span is a length of time.
func span(c logColumn, text string) (time.Duration, string) {
	const most = time.Hour
	if c.unit > 0 {
		return number(c, text, most)
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > most {
		return 0, "must be a duration from 0s to 1h with its unit, such as 12.5ms"
	}
	return d, ""
}

// Times lie within these, which int64 can hold in nanoseconds.
var (
	firstTime = time.Unix(0, 0)
	lastTime  = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
)

// time is a moment, from any origin.
func (p *logParser) time(c logColumn, text string) (time.Duration, string) {
	if c.unit > 0 {
		d, rule := number(c, text, lastTime.Sub(firstTime))
		return d.Round(time.Microsecond), rule // a float64 has no more of the seconds since 1970
	}
	at, err := time.Parse(time.RFC3339, text)
	dated := err == nil
	d, bad := time.ParseDuration(text)
	switch {
	case dated && (at.Before(firstTime) || at.After(lastTime)):
		return 0, "must be between 1970 and 2200"
	case dated:
		d = at.Sub(firstTime)
	case bad != nil || d < 0:
		return 0, "must be a date such as 2026-03-01T12:00:00.25Z or a duration such as 1.25s"
	}
	if p.dated == nil {
		p.dated = &dated
	}
	if *p.dated != dated {
		return 0, "must be of one kind in all rows: dates or durations"
	}
	return d, ""
}

// sorted brings the requests in order and counts times from the first.
func (p *logParser) sorted() ([]Logged, error) {
	slices.SortStableFunc(p.log, func(a, b Logged) int { return int(max(min(a.At-b.At, 1), -1)) })
	first := p.log[0].At
	for i := range p.log {
		p.log[i].At -= first
	}
	if last := p.log[len(p.log)-1].At; last > seconds(maxSeconds) {
		return nil, fmt.Errorf("sim: column time spans %v: must be at most a day", last)
	}
	return p.log, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
