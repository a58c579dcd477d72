package simulate

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// writeTable writes a line for each scenario, and how regrets and the rest are
// spread over all of them.
func writeTable(w io.Writer, rows []row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "scenario\tgoodput/s\tbest/s\tregret %\ttight %\tp99 x\tsettle s\tlimit\tbest limit\tshed %\tsd %\tinv %\ttop %\tdied %\t")
	for i := range rows {
		r := &rows[i]
		limits := "-"
		if r.OracleLimit != nil {
			limits = fmt.Sprintf("%d..%d", *r.OracleLow, *r.OracleLimit)
		}
		fmt.Fprintf(t, "%s\t%.1f\t%s\t%s\t%s\t%s\t%s\t%.1f\t%s\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t\n",
			r.Scenario, r.Goodput, number(r.OracleGoodput, 1), number(r.Regret, 100), number(r.TightRegret, 100),
			hundredths(r.P99Excess), number(r.SettleS, 1), r.MeanLimit, limits,
			100*r.MeanShed, 100*r.SDShedRatio, 100*r.Inversion, 100*r.Shortfall, 100*r.DiedInQueue)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(rows) < 2 {
		return nil
	}
	for _, s := range summaries(rows) {
		if len(s.values) == 0 {
			continue
		}
		v := spreadOf(s.values)
		if _, err := fmt.Fprintf(w, "%s: median %.1f, mean %.1f, worst %.1f\n", s.name, v.Median, v.Mean, v.Worst); err != nil {
			return err
		}
	}
	return nil
}

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
		return "-"
	}
	return fmt.Sprintf("%.1f", unit**v)
}

func hundredths(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f", *v)
}
