package report

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
)

// WriteJSON writes the whole report, indented. Lists and maps are never null;
// figures that were not measured are.
func (r Report) WriteJSON(w io.Writer) error {
	r, err := r.prepared()
	if err != nil {
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// WriteCSV writes a row for each arm and point, led by the names of its
// columns, which are those of the JSON; each tier has three columns and each
// reason one. Conditions are repeated in each row, so that files can be joined
// and stay meaningful. Tenants are left out: they may be thousands of columns.
func (r Report) WriteCSV(w io.Writer) error {
	r, err := r.prepared()
	if err != nil {
		return err
	}
	tiers, reasons := names(r.Arms, tiersOf), names(r.Arms, reasonsOf)
	head := []string{
		"arm", "x", "valid", "capacity_rps", "deadline_ms", "seed",
		"duration_s", "lag_p99_ms", "left_out", "speed", "offered_rps", "goodput_rps",
		"admitted_p50_ms", "admitted_p99_ms",
		"offered", "good", "admitted", "shed", "failed",
		"retry_after_min_s", "retry_after_max_s", "retry_after_distinct",
		"goroutines_peak", "heap_peak_bytes", "cpu_s",
	}
	for _, t := range tiers {
		head = append(head, "tier_"+t+"_offered", "tier_"+t+"_good", "tier_"+t+"_shed")
	}
	for _, reason := range reasons {
		head = append(head, "reason_"+reason)
	}
	c := csv.NewWriter(w)
	rows := [][]string{head}
	for _, a := range r.Arms {
		for _, p := range a.Points {
			rows = append(rows, r.csvRow(a, p, tiers, reasons))
		}
	}
	return c.WriteAll(rows)
}

func (r Report) csvRow(a Arm, p Point, tiers, reasons []string) []string {
	row := []string{
		a.Name, exact(&p.X), strconv.FormatBool(p.Valid),
		exact(&r.CapacityRPS), exact(&r.DeadlineMS), strconv.FormatUint(r.Seed, 10),
		exact(&p.DurationS), exact(&p.LagP99MS), exact(&p.LeftOut), exact(p.Speed), exact(&p.OfferedRPS), exact(&p.GoodputRPS),
		exact(p.AdmittedP50MS), exact(p.AdmittedP99MS),
		whole(&p.Offered), whole(&p.Good), whole(&p.Admitted), whole(&p.Shed), whole(&p.Failed),
		exact(p.RetryAfter.Min), exact(p.RetryAfter.Max), whole(&p.RetryAfter.Distinct),
		whole(p.GoroutinesPeak), whole(p.HeapPeakBytes), exact(p.CPUSeconds),
	}
	for _, name := range tiers {
		if t, ok := p.Tiers[name]; ok {
			row = append(row, whole(&t.Offered), whole(&t.Good), whole(&t.Shed))
		} else {
			row = append(row, "", "", "")
		}
	}
	for _, name := range reasons {
		row = append(row, strconv.Itoa(p.Reasons[name]))
	}
	return row
}

// exact and whole keep every digit, for programs; nil is an empty cell.
func exact(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}

func whole[N int | int64](v *N) string {
	if v == nil {
		return ""
	}
	return strconv.FormatInt(int64(*v), 10)
}
