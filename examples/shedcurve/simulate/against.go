package simulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/sim"
	"github.com/spillway-go/spillway/examples/shedcurve/report"
)

// readReport reads what a load test wrote.
func readReport(path string) (r report.Report, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return r, fmt.Errorf("-against: %w", err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("-against: %s: %w", path, err)
	}
	if err := r.Validate(); err != nil {
		return r, fmt.Errorf("-against: %s:\n%w", path, err)
	}
	if len(r.Arms) == 0 {
		return r, fmt.Errorf("-against: %s: must be the report of a load test: it has no arms", path)
	}
	if !(r.CapacityRPS > 0) {
		return r, fmt.Errorf("-against: %s: capacity_rps is %v, must be above 0", path, r.CapacityRPS)
	}
	return r, nil
}

// difference is what was measured and what was simulated at a load. Goodput is in multiples of
// the capacity.
type difference struct {
	Arm       string  `json:"arm"`
	X         float64 `json:"x"`
	Measured  float64 `json:"measured"`
	Simulated float64 `json:"simulated"`
	Points    float64 `json:"points"` // simulated less measured, in per cent of the capacity
	Valid     bool    `json:"valid"`  // the measured one
}

// compareWith simulates each measured arm at its own loads. It returns the differences and
// both curves as one report.
func (o *options) compareWith(measured report.Report) (all []difference, both report.Report, err error) {
	s := o.scenarios[0]
	both = measured
	both.Arms = nil
	simulated := make([]report.Arm, len(measured.Arms))
	err = parallel(len(measured.Arms), func(i int) error {
		c := o.contenders[0]
		if measured.Arms[i].Name == report.ArmOff {
			c.config = admission.Config{Mode: admission.Off}
		}
		var err error
		simulated[i], err = o.simulatedArm(measured.Arms[i], c, s)
		return err
	})
	if err != nil {
		return nil, both, err
	}
	for i, m := range measured.Arms {
		for k, p := range m.Points {
			d := difference{Arm: m.Name, X: p.X, Valid: p.Valid, Measured: measured.Share(p)}
			simulated[i].Points[k].Speed = p.Speed
			d.Simulated = report.Report{CapacityRPS: s.CapacityRPS}.Share(simulated[i].Points[k])
			d.Points = 100 * (d.Simulated - d.Measured)
			// The simulated service may have another capacity, as that of another day.
			simulated[i].Points[k].GoodputRPS *= measured.CapacityRPS / s.CapacityRPS
			all = append(all, d)
		}
		both.Arms = append(both.Arms, m, simulated[i])
	}
	return all, both, nil
}

// simulatedArm is an arm at the loads of a measured one, in the mean of the runs but for its
// latencies, which are the first run's.
func (o *options) simulatedArm(measured report.Arm, c contender, s sim.Scenario) (report.Arm, error) {
	arm := report.Arm{Name: measured.Name + ", simulated"}
	for _, m := range measured.Points {
		var p report.Point
		goodput := 0.0
		for k := range o.seeds {
			r, err := c.run(o.front, atSpeeds(atLoad(s, m.X).Seeded(k), m))
			if err != nil {
				return arm, err
			}
			if k == 0 {
				p = point(m.X, &r)
			}
			goodput += r.Goodput / float64(o.seeds)
		}
		p.GoodputRPS = goodput
		arm.Points = append(arm.Points, p)
	}
	return arm, nil
}

// atSpeeds is s on a machine as fast as the load test's was at p from one slice to the next, over and over: near its
// capacity it is the slow moments from which a service without protection does not recover.
func atSpeeds(s sim.Scenario, p report.Point) sim.Scenario {
	speeds, n := p.Speeds, float64(len(p.Speeds))
	if n == 0 || p.DurationS <= 0 {
		return s
	}
	slice := max(p.DurationS/n, 0.1) // seconds; no load is shorter
	var points []sim.Point
	for i := range int(s.DurationS/slice) + 1 {
		points = append(points, sim.Point{(float64(i) + 0.5) * slice, speeds[i%len(speeds)]})
	}
	s.Backend = slices.Clone(s.Backend)
	for i := range s.Backend {
		s.Backend[i].Speed = points
	}
	return s
}

// runAgainst runs the comparison and writes it.
func (o *options) runAgainst(stdout io.Writer) error {
	all, both, err := o.compareWith(*o.against)
	if err != nil {
		return err
	}
	if o.json {
		err = writeJSON(stdout, all)
	} else {
		err = writeDifferences(stdout, all)
	}
	if err == nil && o.out != "" {
		err = both.WriteFiles(filepath.Join(o.out, fileName(o.scenarios[0].Name)))
	}
	return err
}

func writeDifferences(w io.Writer, all []difference) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "arm\tload\tmeasured %\tsimulated %\tdifference\t")
	invalid := false
	for _, d := range all {
		mark := ""
		if !d.Valid {
			mark, invalid = "!", true
		}
		fmt.Fprintf(t, "%s\t%s%gx\t%.1f\t%.1f\t%+.1f\t\n", d.Arm, mark, d.X, 100*d.Measured, 100*d.Simulated, d.Points)
	}
	err := t.Flush()
	if err == nil && invalid {
		_, err = fmt.Fprintln(w, "! the measured point is not to be trusted")
	}
	return err
}

// checkAgainst reports what cannot be together with -against.
func (o *options) checkAgainst(require string) error {
	var errs []error
	bad := func(what string) { errs = append(errs, fmt.Errorf("-against cannot be together with %s", what)) }
	if len(o.scenarios) != 1 {
		bad("several scenarios")
	} else if o.scenarios[0].CapacityRPS <= 0 {
		bad("a log without a capacity")
	}
	if len(o.contenders) != 1 {
		bad("several configs")
	}
	if o.laws {
		bad("-law all")
	}
	if require != "" {
		bad("-require")
	}
	return errors.Join(errs...)
}
