package sim

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/spillway-go/spillway/admission"
)

// Report is what came out of a run. Counts are of the requests that began in
// the measured part of it, and of their attempts. Attempts = Good + Late + Left
// + the sum of Shed.
type Report struct {
	Scenario string
	Family   string
	Seconds  float64 // measured

	Goodput      float64 // answers within the deadline, per second
	TightGoodput float64 // within the tight deadline

	Requests uint64
	// Serviceable is how many of the requests the back end could have answered:
	// those of each second, but no more than its capacity; all, if that is not
	// known. Good may be a little more, since what comes late in a second may be
	// answered in the next.
	Serviceable float64

	Attempts uint64
	Good     uint64
	Late     uint64 // admitted, but their clients gave up
	Left     uint64 // their clients gave up while they waited
	Shed     [admission.NumReasons]uint64
	Shadow   [admission.NumReasons]uint64 // of those that ran in mode shadow: would have been shed
	Tiers    [admission.NumTiers]TierReport

	P50, P99, P999 time.Duration // latency of the admitted

	// DiedInQueue is the share of attempts that waited in vain: they expired,
	// gave way to others, or their clients left.
	DiedInQueue float64
	// Inversion is the share of good answers that better tiers should have had.
	// The good answers to the requests of each second are dealt out again, best
	// tier first, to each as many as it asked for; what tiers lack against
	// that, summed, over all good answers.
	Inversion float64
	// TopShortfall is what t0 and t1 lack in that dealing, over what they
	// should have had.
	TopShortfall float64

	MeanLimit   float64
	MeanShed    float64       // shed ratio in the steady part
	SDShed      float64       // its standard deviation
	Settle      time.Duration // from the step until goodput is steady; negative: never, or no step
	RetryRate   float64       // retries per second
	RetryPeak   float64       // the same in the worst 100 ms
	Trace       Trace
	SteadyFromS float64 // the steady part: from the step on,
	SteadyToS   float64 // until the load changes again
}

// TierReport is one tier's part.
type TierReport struct {
	Requests, Attempts, Good, Tight, Late, Left uint64

	Shed, Shadow  [admission.NumReasons]uint64
	P50, P90, P99 time.Duration // latency of the admitted
}

// Trace is a run from its start, in steps of [TraceStep].
type Trace struct {
	Limit     []int     // at the end of the step
	ShedRatio []float64 // likewise
	Arrivals  []int     // attempts
	Retries   []int     // those of them that were not the first
	Good      []int     // answers within the deadline
}

// report makes the tally's report.
func (t *tally) report(s *Scenario) Report {
	r := Report{Scenario: s.Name, Family: s.Family, Seconds: s.DurationS - s.MeasureFromS, Trace: t.trace}
	var all latencies
	tight := uint64(0)
	for i := range t.tiers {
		tier := &t.tiers[i]
		l := &tier.latency
		r.Tiers[i] = TierReport{
			Requests: tier.requests, Attempts: tier.attempts, Good: tier.good, Tight: tier.tight,
			Late: tier.late, Left: tier.left, Shed: tier.shed, Shadow: t.shadow[i],
			P50: l.quantile(0.5), P90: l.quantile(0.9), P99: l.quantile(0.99),
		}
		all.merge(l)
		r.Requests += tier.requests
		r.Attempts += tier.attempts
		r.Good += tier.good
		r.Late += tier.late
		r.Left += tier.left
		tight += tier.tight
		for why, n := range tier.shed {
			r.Shed[why] += n
			r.Shadow[why] += t.shadow[i][why]
		}
	}
	r.P50, r.P99, r.P999 = all.quantile(0.5), all.quantile(0.99), all.quantile(0.999)
	r.Serviceable = t.serviceable(s)
	r.Goodput = float64(r.Good) / r.Seconds
	r.TightGoodput = float64(tight) / r.Seconds
	r.DiedInQueue = float64(t.vain) / math.Max(float64(r.Attempts), 1)
	r.Inversion, r.TopShortfall = t.inversion()
	r.MeanLimit = t.limits / math.Max(float64(t.ticks), 1)
	r.SteadyFromS, r.SteadyToS = steady(s)
	r.MeanShed, r.SDShed = moments(part(t.trace.ShedRatio, r.SteadyFromS, r.SteadyToS))
	r.Settle = settle(s, part(t.trace.Good, s.StepAtS, r.SteadyToS))
	r.RetryRate, r.RetryPeak = rates(part(t.trace.Retries, s.MeasureFromS, s.DurationS))
	return r
}

// serviceable sums up what could have been answered of each second's requests.
func (t *tally) serviceable(s *Scenario) (sum float64) {
	for i, sec := range t.seconds {
		asked := 0
		for _, n := range sec.asked {
			asked += n
		}
		could := float64(asked)
		if s.CapacityRPS > 0 {
			measured := min(float64(i+1), s.DurationS) - max(float64(i), s.MeasureFromS)
			could = min(could, s.CapacityRPS*max(measured, 0))
		}
		sum += could
	}
	return sum
}

// inversion deals out each second's good answers again, best tier first.
func (t *tally) inversion() (inversion, shortfall float64) {
	var lacking, good, topLacking, topDue int
	for _, sec := range t.seconds {
		left := 0
		for _, n := range sec.good {
			left += n
		}
		good += left
		for tier, asked := range sec.asked {
			due := min(asked, left)
			left -= due
			lack := max(due-sec.good[tier], 0)
			lacking += lack
			if tier <= int(admission.T1) {
				topDue += due
				topLacking += lack
			}
		}
	}
	return float64(lacking) / math.Max(float64(good), 1), float64(topLacking) / math.Max(float64(topDue), 1)
}

// steady is the part of a run under one load: from the step, or else from where
// measuring begins, until load or back end change.
func steady(s *Scenario) (from, to float64) {
	from, to = max(s.MeasureFromS, s.StepAtS), s.DurationS
	until := func(points []Point, now float64) {
		for _, p := range points {
			if p[0] > from && p[1] != now {
				to = min(to, p[0])
				return
			}
		}
	}
	until(s.Load.Points, linear(s.Load.Points, from))
	for i := range s.Backend {
		b := &s.Backend[i]
		until(b.Speed, linear(b.Speed, from))
		until(b.ServersFactor, stepped(b.ServersFactor, from))
	}
	return from, to
}

// part cuts a trace.
func part[T any](trace []T, from, to float64) []T {
	index := func(t float64) int { return min(int(math.Round(t/TraceStep.Seconds())), len(trace)) }
	a, b := index(from), index(to)
	return trace[a:max(a, b)]
}

func moments(x []float64) (mean, sd float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		sd += (v - mean) * (v - mean) / float64(len(x))
	}
	return mean, math.Sqrt(sd)
}

// rates are per second.
func rates(counts []int) (mean, peak float64) {
	for _, n := range counts {
		mean += float64(n)
		peak = max(peak, float64(n))
	}
	step := TraceStep.Seconds()
	return mean / math.Max(float64(len(counts))*step, step), peak / step
}

// settle is how long after the step three seconds in a row begin that have at
// least nine tenths of the median second's goodput, give or take two standard
// deviations of a count that size.
func settle(s *Scenario, good []int) time.Duration {
	const second, run = int(time.Second / TraceStep), 3
	if s.StepAtS <= 0 || len(good) < run*second {
		return -1
	}
	sums := make([]int, len(good)-second+1) // of the second from each step on
	for i := range sums {
		for _, n := range good[i : i+second] {
			sums[i] += n
		}
	}
	sorted := slices.SortedFunc(slices.Values(sums), cmp.Compare[int])
	median := float64(sorted[len(sorted)/2])
	enough := 0.9*median - 2*math.Sqrt(median)
	for i := 0; i+(run-1)*second < len(sums); i++ {
		ok := true
		for k := range run {
			ok = ok && float64(sums[i+k*second]) >= enough
		}
		if ok {
			return time.Duration(i) * TraceStep
		}
	}
	return -1
}
