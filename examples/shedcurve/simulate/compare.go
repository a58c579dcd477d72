package simulate

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/spillway-go/spillway/admission/sim/peers"
)

// allLaws are those of the limit, the library's own first.
func allLaws() []string {
	return slices.Concat([]string{"octave", "gradient2", "vegas", "aimd"}, peers.Names())
}

// standing is what a law reached, over all scenarios.
type standing struct {
	Law       string `json:"law"`
	Scenarios int    `json:"scenarios"`
	Seeds     int    `json:"seeds"`
	Regret    spread `json:"regret"`
	Tight     spread `json:"tight_regret"`
}

// spread is how values lie; of none all is zero.
type spread struct {
	Median float64 `json:"median"`
	Mean   float64 `json:"mean"`
	Worst  float64 `json:"worst"` // the largest
}

func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{}
	}
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	return spread{(s[(n-1)/2] + s[n/2]) / 2, mean(s), s[n-1]}
}

// writeStandings tells what every law reached.
func (o *options) writeStandings(w io.Writer, results []result) error {
	var all []standing
	for i := range o.contenders {
		var regret, tight []float64
		for k := i; k < len(results); k += len(o.contenders) {
			r := results[k].row()
			if r.Regret != nil {
				regret = append(regret, *r.Regret)
			}
			if r.TightRegret != nil {
				tight = append(tight, *r.TightRegret)
			}
		}
		all = append(all, standing{o.contenders[i].name, len(o.scenarios), o.seeds, spreadOf(regret), spreadOf(tight)})
	}
	if o.json {
		return writeJSON(w, all)
	}
	return writeStandings(w, all)
}

func writeStandings(w io.Writer, all []standing) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "law\tregret %: median\tmean\tworst\ttight %: median\tmean\tworst\t")
	for _, s := range all {
		fmt.Fprintf(t, "%s\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t\n", s.Law,
			100*s.Regret.Median, 100*s.Regret.Mean, 100*s.Regret.Worst,
			100*s.Tight.Median, 100*s.Tight.Mean, 100*s.Tight.Worst)
	}
	return t.Flush()
}
