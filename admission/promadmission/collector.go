package promadmission

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spillway-go/spillway/admission"
)

// MaxTenants is the most that [WithTopTenants] may ask for.
const MaxTenants = 16

// Option changes what a [Collector] shows.
type Option func(*options) error

type options struct {
	limiter string
	tenants int
}

// WithName sets the label limiter, which tells the controllers of one process
// apart. It must not be empty. Without it, it is "default".
func WithName(limiter string) Option {
	return func(o *options) error {
		if limiter == "" || !utf8.ValidString(limiter) {
			return fmt.Errorf("promadmission: name is %q: must be UTF-8 and not empty", limiter)
		}
		o.limiter = limiter
		return nil
	}
}

// WithTopTenants shows the n tenants that the scorecard refused most, or, with as
// many refusals, that hold most; all others are one, "_other". n is from 0 to
// [MaxTenants]. Without it no tenant's name leaves the process.
func WithTopTenants(n int) Option {
	return func(o *options) error {
		if n < 0 || n > MaxTenants {
			return fmt.Errorf("promadmission: top tenants is %d: must be from 0 to %d", n, MaxTenants)
		}
		o.tenants = n
		return nil
	}
}

// Collector shows one controller. It keeps no counts of its own but what other
// tenants than the shown ones were refused. It is safe for concurrent use; make
// one with [New].
type Collector struct {
	ctrl    *admission.Controller
	metrics *metrics
	others  *others
}

// New returns a collector for a controller, to be registered by the caller, or
// all that is wrong with its arguments.
func New(ctrl *admission.Controller, opts ...Option) (*Collector, error) {
	o := options{limiter: "default"}
	var errs []error
	if ctrl == nil {
		errs = append(errs, errors.New("promadmission: the controller is nil"))
	}
	for _, opt := range opts {
		if opt != nil {
			errs = append(errs, opt(&o))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &Collector{ctrl, newMetrics(o.limiter), newOthers(o.tenants)}, nil
}

// Register makes a collector for a controller and registers it. A second one of
// the same name on one registry is an error, a
// [prometheus.AlreadyRegisteredError]. Nothing is registered anywhere else, and
// never by itself.
func Register(reg prometheus.Registerer, ctrl *admission.Controller, opts ...Option) error {
	if reg == nil {
		return errors.New("promadmission: the registerer is nil")
	}
	c, err := New(ctrl, opts...)
	if err != nil {
		return err
	}
	return reg.Register(c)
}

// Describe sends every metric's description.
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.metrics.descs {
		out <- d
	}
}

// Collect takes one snapshot and sends it, see [admission.Controller.Stats]. Once
// the controller is closed only counters and histograms are sent: they are final,
// and a gauge would go on to show a moment that is over.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	s, cfg := c.ctrl.Stats(), c.ctrl.Config()
	e := emitter{out, s.Closed}
	c.config(e, s, cfg)
	for i := range s.Lanes {
		c.lane(e, &s.Lanes[i], cfg.Lanes)
	}
	c.regulators(e, s)
	c.rules(e, s.Rules)
	c.tenants(e, s)
}

// emitter sends metrics, but no gauges of a closed controller.
type emitter struct {
	out    chan<- prometheus.Metric
	closed bool
}

func (e emitter) put(m metric, value float64, labels ...string) {
	if e.closed && m.kind == prometheus.GaugeValue {
		return
	}
	for i, l := range labels {
		labels[i] = valid(l)
	}
	e.out <- prometheus.MustNewConstMetric(m.desc, m.kind, value, labels...)
}

// valid makes a label of any string.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func (e emitter) flag(m metric, set bool, labels ...string) {
	value := 0.0
	if set {
		value = 1
	}
	e.put(m, value, labels...)
}

func (c *Collector) config(e emitter, s admission.Stats, cfg admission.Config) {
	m := c.metrics
	e.put(m.exempt, float64(s.Exempt))
	e.put(m.configInfo, 1, cfg.Mode.String(), hash(cfg))
	e.put(m.configApplied, float64(s.Config.Applied.UnixMilli())/1e3)
	e.put(m.configRefused, float64(s.Config.Refused))
}

// hash is the same for equal configs, so that a glance tells which replicas run
// another one.
func hash(cfg admission.Config) string {
	h := fnv.New32a()
	if err := json.NewEncoder(h).Encode(cfg); err != nil {
		return "unknown" // cannot be: a config is plain data, and was validated
	}
	return fmt.Sprintf("%08x", h.Sum32())
}

func (c *Collector) lane(e emitter, l *admission.LaneStats, configs map[string]admission.LaneConfig) {
	m := c.metrics
	c.requests(e, l)
	e.put(m.early, float64(l.Early), l.Name)
	e.histogram(m.wait, &l.Wait, l.Name)
	e.histogram(m.service, &l.Service, l.Name)

	e.put(m.inflight, float64(l.Inflight), l.Name)
	e.put(m.inflightMax, float64(l.Peak), l.Name)
	e.put(m.overrun, float64(l.Overrun), l.Name)
	e.put(m.limit, float64(l.Limit), l.Name)
	if cfg, ok := configs[l.Name]; ok {
		least, most := cfg.Limit.Min, cfg.Limit.Max
		if cfg.Limit.Fixed > 0 {
			least, most = cfg.Limit.Fixed, cfg.Limit.Fixed
		}
		e.put(m.limitMin, float64(least), l.Name)
		e.put(m.limitMax, float64(most), l.Name)
	}
	e.flag(m.resting, l.Resting, l.Name)
	e.put(m.baseline, l.Baseline.Seconds(), l.Name)
	e.put(m.demand, l.Demand, l.Name)

	for t, n := range l.Queued {
		e.put(m.queued, float64(n), l.Name, admission.Tier(t).String())
	}
	e.put(m.queueCapacity, float64(l.QueueCapacity), l.Name)
	e.put(m.queueOldest, l.OldestWaiter.Seconds(), l.Name)
	e.flag(m.queueLIFO, l.QueueMode == "LIFO", l.Name)

	e.put(m.shedRatio, l.ShedRatio, l.Name)
	e.put(m.threshold, threshold(l.Threshold), l.Name)
	if l.Binding != "" {
		e.put(m.binding, 1, l.Name, l.Binding)
	}
}

// threshold is a priority as a number: tiers, and cohorts as a fraction of one;
// the number of tiers when nobody is shed.
func threshold(p admission.Priority) float64 {
	if p == 0 {
		return admission.NumTiers
	}
	return float64(p.Tier()) + float64(p.Cohort())/admission.NumCohorts
}

// requests sends the counts of settled requests. All that can be are there from
// the start, zeros too: of a series that begins above zero the first step would
// be lost to rate and increase. What shadow would have shed is only shown where
// it has, or a lane would have half as many series again.
func (c *Collector) requests(e emitter, l *admission.LaneStats) {
	m := c.metrics
	var outcomes [len(admission.TierStats{}.Outcomes)]uint64
	for t := range l.Tiers {
		tier, name := &l.Tiers[t], admission.Tier(t).String()
		e.put(m.requests, float64(tier.Admitted), l.Name, name, "admitted", "")
		e.put(m.requests, float64(tier.Left), l.Name, name, "left", "")
		for r := range admission.NumReasons {
			e.put(m.requests, float64(tier.Shed[r]), l.Name, name, "shed", r.String())
			if n := tier.Shadow[r]; n > 0 {
				e.put(m.shadow, float64(n), l.Name, name, r.String())
			}
		}
		for o, n := range tier.Outcomes {
			outcomes[o] += n
		}
	}
	for o, n := range outcomes {
		e.put(m.outcomes, float64(n), l.Name, admission.Outcome(o).String())
	}
}

func (c *Collector) regulators(e emitter, s admission.Stats) {
	m := c.metrics
	for i := range s.Signals {
		r := &s.Signals[i]
		e.polled(m, r.Name, r.Setpoint, r.Stale, r.Misses)
		if !r.Stale {
			e.put(m.signal, r.Pressure, r.Name)
		}
		e.put(m.signalRatio, r.Ratio, r.Name)
	}
	for i := range s.Keyed {
		r := &s.Keyed[i]
		e.polled(m, r.Name, r.Setpoint, r.Stale, r.Misses)
		e.put(m.pressed, float64(r.Pressed), r.Name)
		e.put(m.regulatorShed, float64(r.Shed), r.Name)
	}
	for i := range s.Guards {
		r := &s.Guards[i]
		e.put(m.regulatorShed, float64(r.Refused), r.Name)
		e.put(m.panics, float64(r.Panics), r.Name)
	}
}

// polled is what signals and keyed signals have in common.
func (e emitter) polled(m *metrics, name string, setpoint float64, stale bool, misses uint64) {
	e.put(m.setpoint, setpoint, name)
	e.flag(m.stale, stale, name)
	e.put(m.misses, float64(misses), name)
}
