package sim

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/internal/race"
)

// band is what the limit's law reached in a scenario when it was designed, and
// some room for another generator of random numbers.
type band struct{ regret, least, most, p99 float64 }

func bands(t *testing.T) map[string]band {
	t.Helper()
	data, err := os.ReadFile("testdata/bands.tsv")
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]band{}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(strings.TrimSpace(line), "\t")
		var n []float64
		for _, c := range cells[1:] {
			v, err := strconv.ParseFloat(c, 64)
			if err != nil {
				t.Fatal(err)
			}
			n = append(n, v)
		}
		m[cells[0]] = band{n[0] / 100, n[1], n[2], n[3]}
	}
	return m
}

// held runs a set and returns its regrets, sorted, and how many scenarios are
// out of their bands.
func held(t *testing.T, set string, runs int) (regrets []float64, out int) {
	t.Helper()
	all := bands(t)
	for _, path := range paths(t, set) {
		s := load(t, path)
		o, err := Lab.Oracle(admission.Config{}, s, committedRuns)
		if err != nil {
			t.Fatal(err)
		}
		goodput, limit, p99 := 0.0, 0.0, 0.0
		for k := range runs {
			r, err := Lab.Run(admission.Config{}, s.Seeded(k))
			if err != nil {
				t.Fatal(err)
			}
			goodput += r.Goodput
			limit += r.MeanLimit / float64(runs)
			p99 += r.P99.Seconds() * 1000 / float64(runs)
		}
		regret := 1 - goodput/float64(runs)/mean(o.Goodput[:runs])
		excess := p99 / mean(o.P99MS[:runs])
		regrets = append(regrets, regret)
		b, ok := all[s.Name]
		if !ok {
			t.Errorf("%s has no band", s.Name)
		}
		if regret > b.regret || limit < b.least || limit > b.most || excess > b.p99 {
			out++
			t.Logf("%s: regret %.1f %% (at most %.0f), limit %.1f (%.0f to %.0f), p99 %.2f x (at most %.2f)",
				s.Name, 100*regret, 100*b.regret, limit, b.least, b.most, excess, b.p99)
		}
	}
	slices.Sort(regrets)
	return regrets, out
}

// The limit's law finds what the best fixed limit would serve: here within the
// medians, means and worst cases it was designed with.
func TestTrain(t *testing.T) {
	if race.Enabled {
		return
	}
	const runs = 2 // more are for the command, which uses all cores
	regrets, out := held(t, "train", runs)
	median, worst := regrets[len(regrets)/2], regrets[len(regrets)-1]
	t.Logf("median %.1f %%, mean %.1f %%, worst %.1f %%, %d out of band", 100*median, 100*mean(regrets), 100*worst, out)
	if median > 0.025 || worst > 0.11 || out > 3 {
		t.Error("want a median of at most 2.5 %, a worst of 11 %, and 3 out of band")
	}
}

func TestValid(t *testing.T) {
	if race.Enabled {
		return
	}
	regrets, out := held(t, "valid", 1)
	median := regrets[len(regrets)/2]
	t.Logf("median %.1f %%, mean %.1f %%, worst %.1f %%, %d out of band", 100*median, 100*mean(regrets), 100*regrets[len(regrets)-1], out)
	if median > 0.045 || mean(regrets) > 0.085 {
		t.Error("want a median of at most 4.5 % and a mean of 8.5 %")
	}
}
