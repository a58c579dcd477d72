package simulate

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// column is one of the table's.
type column struct {
	head string
	cell func(*row) string
}

var columns = []column{
	{"scenario", func(r *row) string { return r.Scenario }},
	{"config", func(r *row) string { return r.Config }},
	{"goodput/s", func(r *row) string { return number(&r.Goodput, 1) }},
	{"of could %", func(r *row) string { return number(r.GoodputShare, 100) }},
	{"best/s", func(r *row) string { return number(r.OracleGoodput, 1) }},
	{"regret %", func(r *row) string { return number(r.Regret, 100) }},
	{"tight %", func(r *row) string { return number(r.TightRegret, 100) }},
	{"p50 ms", func(r *row) string { return number(r.P50MS, 1) }},
	{"p99 ms", func(r *row) string { return number(r.P99MS, 1) }},
	{"p99 x", func(r *row) string { return hundredths(r.P99Excess) }},
	{"settle s", func(r *row) string { return number(r.SettleS, 1) }},
	{"limit", func(r *row) string { return number(&r.MeanLimit, 1) }},
	{"best limit", func(r *row) string {
		if r.OracleLimit == nil {
			return nothing
		}
		return fmt.Sprintf("%d..%d", *r.OracleLow, *r.OracleLimit)
	}},
	{"shed %", func(r *row) string { return number(&r.Shed, 100) }},
	{"gate %", func(r *row) string { return number(&r.MeanShed, 100) }},
	{"sd %", func(r *row) string { return number(&r.SDShedRatio, 100) }},
	{"inv %", func(r *row) string { return number(&r.Inversion, 100) }},
	{"top %", func(r *row) string { return number(&r.Shortfall, 100) }},
	{"died %", func(r *row) string { return number(&r.DiedInQueue, 100) }},
	tierColumn("t0"), tierColumn("t1"), tierColumn("t2"), tierColumn("t3"), tierColumn("t4"), tierColumn("t5"),
}

// tierColumn is the share of a tier's requests that were answered in time.
func tierColumn(name string) column {
	return column{name + " %", func(r *row) string {
		t, ok := r.Tiers[name]
		if !ok {
			return nothing
		}
		return number(&t.Served, 100)
	}}
}

// writeTable writes a line for each scenario and config, without columns that have
// nothing in them, and how regrets and the rest are spread over a config's scenarios.
func writeTable(w io.Writer, rows []row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	shown := slices.DeleteFunc(slices.Clone(columns), func(c column) bool {
		return !slices.ContainsFunc(rows, func(r row) bool { return c.cell(&r) != nothing })
	})
	for _, c := range shown {
		fmt.Fprint(t, c.head, "\t")
	}
	fmt.Fprintln(t)
	for i := range rows {
		for _, c := range shown {
			fmt.Fprint(t, c.cell(&rows[i]), "\t")
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return writeSpreads(w, rows)
}

// writeSpreads tells of each config how its scenarios came out together. What one config
// does better must not hide what another does worse.
func writeSpreads(w io.Writer, rows []row) error {
	scenarios := map[string][]row{} // by config
	var configs []string
	for _, r := range rows {
		if scenarios[r.Config] == nil {
			configs = append(configs, r.Config)
		}
		scenarios[r.Config] = append(scenarios[r.Config], r)
	}
	for _, name := range configs {
		if len(scenarios[name]) < 2 {
			return nil // each config has as many, and the table tells it all
		}
		whose := ""
		if len(configs) > 1 {
			whose = name + ": "
		}
		for _, s := range summaries(scenarios[name]) {
			if len(s.values) == 0 {
				continue
			}
			v := spreadOf(s.values)
			if _, err := fmt.Fprintf(w, "%s%s: median %.1f, mean %.1f, worst %.1f\n", whose, s.name, v.Median, v.Mean, v.Worst); err != nil {
				return err
			}
		}
	}
	return nil
}

// nothing is the cell of what was not measured.
const nothing = "-"

type summary struct {
	name   string
	values []float64 // in percent
}

func summaries(rows []row) []summary {
	s := []summary{{name: "regret %"}, {name: "tight regret %"}, {name: "inversion %"}, {name: "shortfall of t0 and t1 %"}, {name: "died in queue %"}}
	for i := range rows {
		r := &rows[i]
		for k, v := range []*float64{r.Regret, r.TightRegret, &r.Inversion, &r.Shortfall, &r.DiedInQueue} {
			if v != nil {
				s[k].values = append(s[k].values, 100**v)
			}
		}
	}
	return s
}

func number(v *float64, unit float64) string {
	if v == nil {
		return nothing
	}
	return fmt.Sprintf("%.1f", unit**v)
}

func hundredths(v *float64) string {
	if v == nil {
		return nothing
	}
	return fmt.Sprintf("%.2f", *v)
}
