package sim

import (
	"testing"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/internal/race"
)

// figures are means over the runs of some scenarios.
type figures struct{ goodput, died, inversion, sd float64 }

// gated runs scenarios with a law of the gate; goodput is over that of best.
func gated(t *testing.T, law string, names []string, best map[string]float64) (mean figures, by map[string]float64) {
	t.Helper()
	const runs = 2
	cfg := admission.Config{Lanes: map[string]admission.LaneConfig{"default": {Gate: admission.GateConfig{Law: law}}}}
	by = map[string]float64{}
	n := float64(runs * len(names))
	for _, name := range names {
		s := load(t, "testdata/train/"+name+".json")
		for k := range runs {
			r, err := Run(cfg, s.Seeded(k))
			if err != nil {
				t.Fatal(err)
			}
			by[name] += r.Goodput / runs
			mean.died += r.DiedInQueue / n
			mean.inversion += r.Inversion / n
			mean.sd += r.SDShed / n
		}
		if best == nil {
			mean.goodput += 1 / float64(len(names))
		} else {
			mean.goodput += by[name] / best[name] / float64(len(names))
		}
	}
	return mean, by
}

// What each law is chosen for. Without a gate most is served, and nearly half of
// the attempts wait in vain; fed forward the gate costs a percent at most and
// spares most of them the wait; the published loop spares more, for a percent
// or two.
func TestLawsOfTheGate(t *testing.T) {
	if race.Enabled {
		return
	}
	names := []string{"01-mgk50-exp-step2", "03-ps16-exp-step3", "04-cont16-step2", "05-usl-step3", "12-bimodal-1.2x", "14-pareto-1.5x", "15-low10rps-step2"}
	off, served := gated(t, "off", names, nil)
	ff, _ := gated(t, "ff", names, served)
	pid, _ := gated(t, "pid", names, served)
	for _, law := range []struct {
		name string
		figures
		goodput, died, inversion, sd float64 // least, most, most, most
	}{
		{"off", off, 1, 1, 0.095, 0},
		{"ff", ff, 0.98, off.died / 2.8, off.inversion + 0.01, 0.12},
		{"pid", pid, 0.96, ff.died / 1.5, off.inversion + 0.01, 0.15},
	} {
		f := law.figures
		t.Logf("%s: goodput %.3f, died %.3f, inversion %.3f, sd %.3f", law.name, f.goodput, f.died, f.inversion, f.sd)
		if f.goodput < law.goodput-1e-9 || f.died > law.died || f.inversion > law.inversion || f.sd > law.sd {
			t.Errorf("%s: want goodput of %.3f, died %.3f, inversion %.3f, sd %.3f at worst", law.name, law.goodput, law.died, law.inversion, law.sd)
		}
	}
	if off.died < 0.3 {
		t.Errorf("without a gate only %.3f wait in vain: these scenarios say nothing", off.died)
	}
}
