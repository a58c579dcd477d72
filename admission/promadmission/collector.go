package promadmission

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/internal/facts"
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
		if err := facts.CheckName(limiter); err != nil {
			return fmt.Errorf("promadmission: %w", err)
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
	ctrl   *admission.Controller
	descs  map[*facts.Fact]*prometheus.Desc
	others *others
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
	return &Collector{ctrl, describe(o.limiter), newOthers(o.tenants)}, nil
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
	for _, d := range c.descs {
		out <- d
	}
}

// Collect takes one snapshot and sends it, see [admission.Controller.Stats]. Once
// the controller is closed only counters and histograms are sent: they are final,
// and a gauge would go on to show a moment that is over.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	put := func(f *facts.Fact, value float64, labels ...string) {
		kind := prometheus.GaugeValue
		if f.Kind == facts.Counter {
			kind = prometheus.CounterValue
		}
		for i, l := range labels {
			labels[i] = facts.Valid(l)
		}
		out <- prometheus.MustNewConstMetric(c.descs[f], kind, value, labels...)
	}
	s, tenants := c.others.look(c.ctrl)
	facts.Of(&s, c.ctrl.Config(), put)
	for i := range s.Lanes {
		l := &s.Lanes[i]
		out <- newHistogram(c.descs[facts.Wait], &l.Wait, l.Name)
		out <- newHistogram(c.descs[facts.Service], &l.Service, l.Name)
	}
	for _, t := range tenants {
		if !s.Closed {
			put(tenantInflight, float64(t.Held), t.Rule, t.Value)
		}
		put(tenantShed, float64(t.Refused), t.Rule, t.Value)
	}
}
