package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spillway-go/spillway/examples/shedcurve/report"
)

// What the tuner is held to, as multiples of what the best pinned limit gives.
const (
	leastGoodput = 0.95
	mostP99      = 1.5
)

// limitsReport is what the tuner and the pinned limits gave.
type limitsReport struct {
	CapacityRPS float64 `json:"capacity_rps"` // requests/s, without Spillway
	X           float64 `json:"x"`            // load, in multiples of capacity
	DeadlineMS  float64 `json:"deadline_ms"`
	Seed        uint64  `json:"seed"`
	Customers   int     `json:"customers"`

	// The tuner's first load from its start on, less the warm-up; and the second of the same process.
	Cold    limitArm   `json:"cold"`
	Settled limitArm   `json:"settled"`
	Pinned  []limitArm `json:"pinned"` // by rising limit
	Best    int        `json:"best"`   // the pinned limit of the most goodput

	Note string `json:"note,omitempty"`
}

// limitArm is one way of setting the limit. Beside its rounds are the medians of those that can be trusted, of all where
// none can.
type limitArm struct {
	Name    string           `json:"name"`
	Limit   int              `json:"limit"` // of each lane; 0: tuned
	Rounds  []report.Point   `json:"rounds"`
	Reached []map[string]int `json:"reached"` // limit by lane at the end of each round

	GoodputRPS float64 `json:"goodput_rps"` // at the speed at which the capacity was measured
	P50MS      float64 `json:"admitted_p50_ms"`
	P99MS      float64 `json:"admitted_p99_ms"`
	T1Share    float64 `json:"t1_share"` // of the t1 requests offered, those that were good
	Invalid    int     `json:"invalid"`  // rounds that cannot be trusted

	GoodputOfBest float64 `json:"goodput_of_best"` // as a multiple of the best pinned limit's
	P99OfBest     float64 `json:"p99_of_best"`
	Met           bool    `json:"met"` // both are as the tuner is held to
}

func newLimitsReport(c limitsConfig, measured report.Report) limitsReport {
	r := limitsReport{
		CapacityRPS: measured.CapacityRPS, X: c.x, DeadlineMS: ms(c.deadline), Seed: c.seed, Customers: measured.Customers,
		Cold: limitArm{Name: "tuned, cold"}, Settled: limitArm{Name: "tuned, settled"},
	}
	for _, n := range c.limits {
		r.Pinned = append(r.Pinned, limitArm{Name: strconv.Itoa(n), Limit: n})
	}
	return r
}

// sum takes the medians.
func (l *limitArm) sum() error {
	var valid []report.Point
	for _, p := range l.Rounds {
		if p.Admitted == 0 {
			return fmt.Errorf("%s: nothing was admitted in %v s", l.Name, p.DurationS)
		}
		if p.Valid {
			valid = append(valid, p)
		}
	}
	l.Invalid = len(l.Rounds) - len(valid)
	if len(valid) == 0 {
		valid = l.Rounds
	}
	median := func(of func(report.Point) float64) float64 {
		var v []float64
		for _, p := range valid {
			v = append(v, of(p))
		}
		return middle(v)
	}
	// A machine that was a tenth faster during one limit's rounds would hide twice the difference that is looked for.
	l.GoodputRPS = median(func(p report.Point) float64 { return p.GoodputRPS / *p.Speed })
	l.P50MS = median(func(p report.Point) float64 { return *p.AdmittedP50MS })
	l.P99MS = median(func(p report.Point) float64 { return *p.AdmittedP99MS })
	l.T1Share = median(func(p report.Point) float64 {
		t1 := p.Tiers["t1"]
		return float64(t1.Good) / float64(max(t1.Offered, 1))
	})
	return nil
}

// all are the arms as the table shows them.
func (r *limitsReport) all() []*limitArm {
	all := []*limitArm{&r.Cold, &r.Settled}
	for i := range r.Pinned {
		all = append(all, &r.Pinned[i])
	}
	return all
}

// judge takes the medians and compares them with those of the best pinned limit.
func (r *limitsReport) judge() error {
	var errs []error
	for _, l := range r.all() {
		errs = append(errs, l.sum())
	}
	best := r.Pinned[0]
	for _, l := range r.Pinned {
		if l.GoodputRPS > best.GoodputRPS {
			best = l
		}
	}
	if best.GoodputRPS == 0 {
		errs = append(errs, errors.New("no pinned limit let anything be answered in time"))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	r.Best = best.Limit
	for _, l := range r.all() {
		l.GoodputOfBest, l.P99OfBest = l.GoodputRPS/best.GoodputRPS, l.P99MS/best.P99MS
		l.Met = l.GoodputOfBest >= leastGoodput && l.P99OfBest <= mostP99
	}
	return nil
}

// write writes the report for a terminal.
func (r *limitsReport) write(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "limit\tgoodput\tof capacity\tof best\tp50\tp99\tof best\tt1 good\tinvalid\t")
	for _, l := range r.all() {
		fmt.Fprintf(tw, "%s\t%.0f/s\t%.0f %%\t%.1f %%\t%.0f ms\t%.0f ms\t%.2f\t%.1f %%\t%d of %d\t\n", l.Name, l.GoodputRPS, 100*l.GoodputRPS/r.CapacityRPS,
			100*l.GoodputOfBest, l.P50MS, l.P99MS, l.P99OfBest, 100*l.T1Share, l.Invalid, len(l.Rounds))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "capacity %.0f/s, offered %gx, deadline %g ms, seed %d, %d customers\n", r.CapacityRPS, r.X, r.DeadlineMS, r.Seed, r.Customers)
	for _, l := range []*limitArm{&r.Cold, &r.Settled} {
		fmt.Fprintf(&b, "%s: at the end of each round the limits of read+write were", l.Name)
		for _, reached := range l.Reached {
			fmt.Fprintf(&b, " %d+%d", reached["read"], reached["write"])
		}
		fmt.Fprintln(&b)
	}
	if r.Note != "" {
		fmt.Fprintln(&b, r.Note)
	}
	for _, l := range []*limitArm{&r.Cold, &r.Settled} {
		verdict := "missed"
		if l.Met {
			verdict = "met"
		}
		fmt.Fprintf(&b, "%s: %s: %.1f %% of the goodput of the best pinned limit, %d (at least %.0f), and %.2f times its p99 (at most %g)\n",
			l.Name, verdict, 100*l.GoodputOfBest, r.Best, 100*leastGoodput, l.P99OfBest, mostP99)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// middle is the median of v, the lower one of two. It sorts v.
func middle(v []float64) float64 {
	slices.Sort(v)
	return v[(len(v)-1)/2]
}
