package simulate

import (
	"fmt"
	"slices"
	"time"

	"github.com/spillway-go/spillway/admission/sim"
)

// row is a scenario's line in the table and its object in the JSON. Values are
// means over the runs, counts sums; what needs the oracle, a step or admitted
// requests is null without.
type row struct {
	Scenario string `json:"scenario"`
	Config   string `json:"config"`
	Family   string `json:"family"`
	Seeds    int    `json:"seeds"`

	Goodput       float64  `json:"goodput"`       // good answers per second
	GoodputShare  *float64 `json:"goodput_share"` // of what could have been answered, see [sim.Report.Serviceable]
	P50MS         *float64 `json:"p50_ms"`        // of the admitted
	P99MS         *float64 `json:"p99_ms"`
	P999MS        *float64 `json:"p999_ms"`
	Shed          float64  `json:"shed"` // share of attempts that were refused
	OracleGoodput *float64 `json:"oracle_goodput"`
	Regret        *float64 `json:"regret"`       // 1 - goodput / oracle's
	TightRegret   *float64 `json:"tight_regret"` // the same at the tight deadline, against the limit that is best for it
	P99Excess     *float64 `json:"p99_excess"`   // p99 of the admitted over the oracle's
	SettleS       *float64 `json:"settle_s"`     // median; of the runs that settled
	Settled       int      `json:"settled"`      // runs

	MeanLimit   float64  `json:"mean_limit"`
	OracleLimit *int     `json:"oracle_limit"`
	OracleLow   *int     `json:"oracle_limit_98"` // the least that reaches 98 % of the best
	SDShedRatio float64  `json:"sd_shed_ratio"`   // from the step on, until the load changes
	MeanShed    float64  `json:"mean_shed_ratio"`
	Inversion   float64  `json:"inversion"`
	Shortfall   float64  `json:"top_shortfall"` // of t0 and t1
	DiedInQueue float64  `json:"died_in_queue"`
	RetryPeak   *float64 `json:"retry_peak"` // worst 100 ms over the mean

	Tiers map[string]tier `json:"tiers"`
}

type tier struct {
	Offered uint64  `json:"offered"` // requests
	Good    uint64  `json:"good"`
	Shed    uint64  `json:"shed"`   // attempts
	Served  float64 `json:"served"` // Good over Offered
	P50MS   float64 `json:"p50_ms"`
	P99MS   float64 `json:"p99_ms"`
}

func (r *result) row() row {
	out := row{Scenario: r.scenario.Name, Config: r.contender.name, Family: r.scenario.Family, Seeds: len(r.reports), Tiers: map[string]tier{}}
	n := float64(len(r.reports))
	tight, retries, peak, good, serviceable := 0.0, 0.0, 0.0, 0.0, 0.0
	var p50, p99, p999 []float64
	var settles []float64
	for i := range r.reports {
		p := &r.reports[i]
		out.Goodput += p.Goodput / n
		out.MeanLimit += p.MeanLimit / n
		out.SDShedRatio += p.SDShed / n
		out.MeanShed += p.MeanShed / n
		out.Inversion += p.Inversion / n
		out.Shortfall += p.TopShortfall / n
		out.DiedInQueue += p.DiedInQueue / n
		tight += p.TightGoodput / n
		good += float64(p.Good)
		serviceable += p.Serviceable
		out.Shed += share(p.Shed[:], p.Attempts) / n
		if p.P50 > 0 { // something was admitted
			p50, p99, p999 = append(p50, ms(p.P50)), append(p99, ms(p.P99)), append(p999, ms(p.P999))
		}
		retries += p.RetryRate / n
		peak += p.RetryPeak / n
		if p.Settle >= 0 {
			settles = append(settles, p.Settle.Seconds())
		}
		out.addTiers(p)
	}
	out.GoodputShare = ratio(good, serviceable)
	if len(p50) > 0 {
		a, b, c := mean(p50), mean(p99), mean(p999)
		out.P50MS, out.P99MS, out.P999MS = &a, &b, &c
	}
	if out.Settled = len(settles); out.Settled > 0 {
		slices.Sort(settles)
		out.SettleS = &settles[len(settles)/2]
	}
	out.RetryPeak = ratio(peak, retries)
	if o := r.oracle; o != nil {
		best := mean(o.Goodput)
		out.OracleGoodput = &best
		out.OracleLimit, out.OracleLow = &o.Limit, &o.Low
		out.Regret = regret(out.Goodput, best)
		out.TightRegret = regret(tight, mean(o.Tight))
		out.P99Excess = ratio(mean(p99), mean(o.P99MS))
	}
	return out
}

func (out *row) addTiers(p *sim.Report) {
	for i := range p.Tiers {
		t := &p.Tiers[i]
		if t.Requests == 0 {
			continue
		}
		name := fmt.Sprintf("t%d", i)
		sum := out.Tiers[name]
		sum.Offered += t.Requests
		sum.Good += t.Good
		for _, n := range t.Shed {
			sum.Shed += n
		}
		sum.Served = float64(sum.Good) / float64(sum.Offered)
		sum.P50MS += ms(t.P50) / float64(out.Seeds)
		sum.P99MS += ms(t.P99) / float64(out.Seeds)
		out.Tiers[name] = sum
	}
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

// share is what part of attempts counts are; 0 of none.
func share(counts []uint64, attempts uint64) float64 {
	sum := uint64(0)
	for _, n := range counts {
		sum += n
	}
	return float64(sum) / max(float64(attempts), 1)
}

// ratio is nil where it is not defined.
func ratio(a, b float64) *float64 {
	if b <= 0 {
		return nil
	}
	q := a / b
	return &q
}

func regret(got, best float64) *float64 {
	q := ratio(got, best)
	if q != nil {
		*q = 1 - *q
	}
	return q
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v / float64(len(x))
	}
	return sum
}
