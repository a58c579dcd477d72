package sim

import (
	"fmt"
	"math"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/pid"
)

// Oracle is the best that a fixed limit reaches in a scenario, found by trying
// them: it knows what no law can know beforehand. The slices have one value for
// each run, that of [Scenario.Seeded].
type Oracle struct {
	Limit   int       `json:"limit"`   // the best by the mean of the runs' goodput
	Low     int       `json:"low"`     // the least that reaches 98 % of it
	Goodput []float64 `json:"goodput"` // at Limit, per second
	P99MS   []float64 `json:"p99_ms"`  // of the admitted at Low: many a limit serves as much, the least of them soonest
	Tight   []float64 `json:"tight"`   // at the limit that is best for this one
}

// grid is the limits that a sweep tries: steps of a quarter, more or less, over
// which goodput changes by a few percent at most.
var grid = []int{
	1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 28, 32, 40, 50, 60, 75, 90, 110, 135, 165, 200, 250, 300,
	400, 550, 800, 1200, 1600, 2400, 4000,
}

const (
	// closeEnough is how near a limit must come to the best in the first run to
	// be tried in the others.
	closeEnough = 0.93
	// So many limits in a row that serve less than hopeless of the best end the
	// climb: more slots will not help.
	hopeless, inARow = 0.6, 4
)

// Sweep finds the oracle of s over so many runs, with cfg but for its limit: it
// blocks for some fifty runs of the scenario for four of them.
func (f Front) Sweep(cfg admission.Config, s Scenario, runs int) (Oracle, error) {
	if runs < 1 {
		return Oracle{}, fmt.Errorf("sim: runs is %d: must be at least 1", runs)
	}
	var tried []*fixedLimit
	best, bestTight, poor := 0.0, 0.0, 0
	for _, n := range grid {
		l := &fixedLimit{limit: n}
		if err := l.run(f, cfg, s, 1); err != nil {
			return Oracle{}, err
		}
		tried = append(tried, l)
		best, bestTight = math.Max(best, l.goodput[0]), math.Max(bestTight, l.tight[0])
		if k := len(tried); k > 1 && l.same(tried[k-2]) {
			break // neither of the two ever bound, nor will a larger one
		}
		if l.goodput[0] >= hopeless*best {
			poor = 0
		} else if poor++; poor == inARow {
			break
		}
	}
	var all []*fixedLimit
	for _, l := range tried {
		if l.goodput[0] < closeEnough*best && l.tight[0] < closeEnough*bestTight {
			continue
		}
		if err := l.run(f, cfg, s, runs); err != nil {
			return Oracle{}, err
		}
		all = append(all, l)
	}
	return choose(all), nil
}

func choose(all []*fixedLimit) Oracle {
	top, tight := all[0], all[0]
	for _, l := range all {
		if mean(l.goodput) > mean(top.goodput) {
			top = l
		}
		if mean(l.tight) > mean(tight.tight) {
			tight = l
		}
	}
	low := top
	for _, l := range all {
		if l.limit < low.limit && mean(l.goodput) >= 0.98*mean(top.goodput) {
			low = l
		}
	}
	return Oracle{Limit: top.limit, Low: low.limit, Goodput: top.goodput, P99MS: low.p99, Tight: tight.tight}
}

// fixedLimit is what one limit reaches, by run.
type fixedLimit struct {
	limit               int
	goodput, tight, p99 []float64
}

// run makes it up to so many runs.
func (l *fixedLimit) run(f Front, cfg admission.Config, s Scenario, runs int) error {
	name, lane, err := laneOf(cfg, &s)
	if err != nil {
		return err
	}
	lane.Limit = pid.LimitConfig{Fixed: l.limit}
	cfg.Lanes = map[string]admission.LaneConfig{name: lane}
	for k := len(l.goodput); k < runs; k++ {
		r, err := f.Run(cfg, s.Seeded(k))
		if err != nil {
			return err
		}
		l.goodput = append(l.goodput, r.Goodput)
		l.tight = append(l.tight, r.TightGoodput)
		l.p99 = append(l.p99, r.P99.Seconds()*1000)
	}
	return nil
}

// same tells whether the first runs of two limits came out alike in all.
func (l *fixedLimit) same(m *fixedLimit) bool {
	return l.goodput[0] == m.goodput[0] && l.tight[0] == m.tight[0] && l.p99[0] == m.p99[0]
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / math.Max(float64(len(x)), 1)
}
