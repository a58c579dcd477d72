package sim

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spillway-go/spillway/admission"
)

// Bounds of what a scenario may ask for. They keep one run within minutes.
const (
	maxSeconds  = 86_400.0
	maxMillis   = 3_600_000.0
	maxRate     = 10_000_000.0 // arrivals per second
	maxServers  = 1_000_000
	maxStations = 64
	maxVisits   = 100
	maxPoints   = 10_000
	maxRetries  = 1_000
	maxFactor   = 1_000_000.0
	maxSigma    = 10.0
)

var (
	distKinds  = []string{"det", "exp", "lognormal", "bimodal", "pareto", "mix", distLog}
	retryKinds = []string{"", "immediate", "backoff", "after", "hint"}
)

// Validate reports everything that is wrong, each with field, value and rule.
func (s Scenario) Validate() error {
	var v problems
	logged := len(s.Requests) > 0
	if s.Log != "" && !logged {
		v.add("log", fmt.Sprintf("%q", s.Log), "must be read by Load, from a file")
	}
	v.between("duration_s", s.DurationS, 0.1, maxSeconds)
	v.between("measure_from_s", s.MeasureFromS, 0, s.DurationS)
	if s.MeasureFromS == s.DurationS {
		v.add("measure_from_s", s.MeasureFromS, "must be before duration_s")
	}
	v.between("step_at_s", s.StepAtS, 0, s.DurationS)
	if s.CapacityRPS != 0 || !logged {
		v.between("capacity_rps", s.CapacityRPS, 1e-3, maxRate)
	}
	v.between("size_sigma", s.SizeSigma, 0, maxSigma)
	if n := len(s.Backend); n == 0 || n > maxStations {
		v.add("backend", fmt.Sprintf("%d stations", n), fmt.Sprintf("must be 1 to %d", maxStations))
	}
	for i := range s.Backend {
		v.station(fmt.Sprintf("backend[%d].", i), &s.Backend[i], logged)
	}
	v.client(s.Client)
	if logged {
		v.log(&s)
	} else {
		v.load(s.Load, s.CapacityRPS)
		v.between("client.deadline_ms", s.Client.DeadlineMS, 1e-3, maxMillis)
	}
	v.tiers(s.TierMix)
	v.works(s.TierWork)
	return errors.Join(v...)
}

// problems gathers errors.
type problems []error

func (v *problems) add(field string, value any, rule string) {
	*v = append(*v, fmt.Errorf("sim: %s is %v: %s", field, value, rule))
}

func (v *problems) between(field string, value, least, most float64) {
	if !(value >= least && value <= most) {
		v.add(field, value, fmt.Sprintf("must be between %v and %v", least, most))
	}
}

func (v *problems) oneOf(field, value string, of []string) {
	if !slices.Contains(of, value) {
		v.add(field, fmt.Sprintf("%q", value), fmt.Sprintf("must be one of %q", of))
	}
}

// points must come in order of time, with values up to most.
func (v *problems) points(field string, points []Point, most float64) {
	if len(points) > maxPoints {
		v.add(field, fmt.Sprintf("%d points", len(points)), fmt.Sprintf("must be at most %d", maxPoints))
		return
	}
	last := 0.0
	for i, p := range points {
		at := fmt.Sprintf("%s[%d]", field, i)
		v.between(at+" second", p[0], last, maxSeconds)
		v.between(at+" value", p[1], 0, most)
		last = max(last, p[0])
	}
}

func (v *problems) station(at string, s *Station, logged bool) {
	v.between(at+"servers", float64(s.Servers), 0, maxServers)
	v.visits(at+"visits", s.Visits)
	v.between(at+"refusal_ms", s.RefusalMS, 0, maxMillis)
	v.points(at+"servers_factor", s.ServersFactor, maxFactor)
	v.between(at+"cores", s.Cores, 0, maxServers)
	v.between(at+"knee", s.Knee, 0, maxServers)
	v.between(at+"beta", s.Beta, 0, maxFactor)
	v.between(at+"usl_alpha", s.USLAlpha, 0, maxFactor)
	v.between(at+"usl_beta", s.USLBeta, 0, maxFactor)
	v.oneOf(at+"dist.kind", s.Dist.Kind, distKinds)
	switch {
	case s.Dist.Kind != distLog:
		v.between(at+"dist.mean_ms", s.Dist.MeanMS, 1e-3, maxMillis)
	case !logged:
		v.add(at+"dist.kind", `"log"`, "must be with a log")
	case s.Dist.MeanMS != 0:
		v.add(at+"dist.mean_ms", s.Dist.MeanMS, "must be left out for kind log")
	}
	v.between(at+"dist.sigma", s.Dist.Sigma, 0, maxSigma)
	v.between(at+"dist.sigma2", s.Dist.Sigma2, 0, maxSigma)
	v.between(at+"dist.p", s.Dist.P, 0, 1)
	v.between(at+"dist.ratio", s.Dist.Ratio, 0, maxFactor)
	if s.Dist.Kind == "mix" && s.Dist.Ratio == 0 {
		v.add(at+"dist.ratio", s.Dist.Ratio, "must be above 0 for kind mix")
	}
	v.between(at+"ar_sigma", s.ARSigma, 0, maxSigma)
	v.between(at+"ar_rho", s.ARRho, -1, 1)
	v.between(at+"size_sigma", s.SizeSigma, 0, maxSigma)
	v.points(at+"speed", s.Speed, maxFactor)
	if s.PauseMS > 0 || s.PauseEveryS > 0 {
		v.between(at+"pause_every_s", s.PauseEveryS, 0.01, maxSeconds)
		v.between(at+"pause_ms", s.PauseMS, 0, 1000*math.Max(s.PauseEveryS, 0))
	} else {
		v.between(at+"pause_every_s", s.PauseEveryS, 0, maxSeconds)
		v.between(at+"pause_ms", s.PauseMS, 0, maxMillis)
	}
}

func (v *problems) visits(field string, parts []float64) {
	if len(parts) > maxVisits {
		v.add(field, fmt.Sprintf("%d parts", len(parts)), fmt.Sprintf("must be at most %d", maxVisits))
	}
	sum := 0.0
	for i, part := range parts {
		v.between(fmt.Sprintf("%s[%d]", field, i), part, 0, maxFactor)
		sum += part
	}
	if len(parts) > 0 && !(sum > 0) {
		v.add(field, strings.Trim(fmt.Sprint(parts), "[]"), "must have a part above 0")
	}
}

func (v *problems) load(l Arrivals, capacity float64) {
	v.points("load.points", l.Points, maxRate/math.Max(capacity, 1e-3))
	v.between("load.closed_clients", float64(l.ClosedClients), 0, maxServers)
	v.between("load.think_ms", l.ThinkMS, 0, maxMillis)
	if len(l.Points) == 0 && l.ClosedClients == 0 {
		v.add("load", "empty", "must have points or closed_clients")
	}
}

func (v *problems) client(c Client) {
	v.between("client.tight_deadline_ms", c.TightDeadlineMS, 0, maxMillis)
	v.oneOf("client.retry", c.Retry, retryKinds)
	v.between("client.max_retry", float64(c.MaxRetry), 0, maxRetries)
	v.between("client.base_ms", c.BaseMS, 0, maxMillis)
	if (c.Retry == "backoff" || c.Retry == "after" || c.Retry == "hint") && c.BaseMS == 0 {
		v.add("client.base_ms", c.BaseMS, "must be above 0 for retry "+c.Retry)
	}
	v.between("client.retry_after_jitter", c.RetryAfterJitter, 0, 1)
}

func (v *problems) works(factors []float64) {
	if len(factors) > admission.NumTiers {
		v.add("tier_work", fmt.Sprintf("%d tiers", len(factors)), fmt.Sprintf("must be at most %d", admission.NumTiers))
	}
	for i, f := range factors {
		v.between(fmt.Sprintf("tier_work[%d]", i), f, 0, maxFactor)
	}
}

func (v *problems) tiers(mix []float64) {
	if len(mix) > admission.NumTiers {
		v.add("tier_mix", fmt.Sprintf("%d tiers", len(mix)), fmt.Sprintf("must be at most %d", admission.NumTiers))
	}
	sum := 0.0
	for i, share := range mix {
		v.between(fmt.Sprintf("tier_mix[%d]", i), share, 0, 1)
		sum += share
	}
	if len(mix) > 0 && !(sum > 0) {
		v.add("tier_mix", strings.Trim(fmt.Sprint(mix), "[]"), "must have a share above 0")
	}
}
