package oteladmission

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/internal/facts"
)

const (
	scope     = "github.com/spillway-go/spillway/admission/oteladmission"
	schemaURL = "https://opentelemetry.io/schemas/1.43.0"
	namespace = "admission."
)

// Register observes a controller with instruments of the provider whenever its
// reader collects, until Unregister of what it returns is called. Once the
// controller is closed only counters are observed. Several controllers may use one
// provider, see [WithName]; registering one twice under one name counts it double
// or not at all, as the SDK decides.
func Register(provider metric.MeterProvider, ctrl *admission.Controller, opts ...Option) (metric.Registration, error) {
	o, err := gather(opts)
	if provider == nil {
		err = errors.Join(err, errors.New("oteladmission: the meter provider is nil"))
	}
	if ctrl == nil {
		err = errors.Join(err, errors.New("oteladmission: the controller is nil"))
	}
	if err != nil {
		return nil, err
	}
	meter := provider.Meter(scope, metric.WithSchemaURL(schemaURL))
	byFact := make(map[*facts.Fact]metric.Float64Observable, len(facts.All))
	all := make([]metric.Observable, 0, len(facts.All))
	for _, f := range facts.All {
		i, err := instrument(meter, f)
		if err != nil {
			return nil, fmt.Errorf("oteladmission: %s%s: %w", namespace, f.Name, err)
		}
		byFact[f] = i
		all = append(all, i)
	}
	return meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		s := ctrl.Stats()
		facts.Of(&s, ctrl.Config(), func(f *facts.Fact, value float64, labels ...string) {
			to.ObserveFloat64(byFact[f], value, metric.WithAttributeSet(o.attributes(f.Labels, labels)))
		})
		return nil
	}, all...)
}

func instrument(m metric.Meter, f *facts.Fact) (metric.Float64Observable, error) {
	name, unit, help := namespace+f.Name, metric.WithUnit(f.Unit), metric.WithDescription(f.Help)
	switch f.Kind {
	case facts.Counter:
		return m.Float64ObservableCounter(name, unit, help)
	case facts.Level:
		return m.Float64ObservableUpDownCounter(name, unit, help)
	}
	return m.Float64ObservableGauge(name, unit, help)
}

// attributes are the labels that have a value, and the controller's name.
func (o *options) attributes(names, values []string) attribute.Set {
	kv := make([]attribute.KeyValue, 1, len(names)+1)
	kv[0] = attribute.String(namespace+"limiter", o.limiter)
	for i, v := range values {
		if v != "" {
			kv = append(kv, attribute.String(namespace+names[i], facts.Valid(v)))
		}
	}
	return attribute.NewSet(kv...)
}

// Option changes what is told.
type Option func(*options) error

type options struct {
	limiter  string
	longWait float64       // seconds
	minWait  time.Duration // of those admitted, for the decision to be on their spans
}

func gather(opts []Option) (*options, error) {
	o := &options{limiter: "default", longWait: defaultLongWait.Seconds(), minWait: 1}
	var errs []error
	for _, opt := range opts {
		if opt != nil {
			errs = append(errs, opt(o))
		}
	}
	return o, errors.Join(errs...)
}

// WithName sets the attribute admission.limiter, which tells the controllers of
// one process apart. It must not be empty. Without it, it is "default".
func WithName(limiter string) Option {
	return func(o *options) error {
		if err := facts.CheckName(limiter); err != nil {
			return fmt.Errorf("oteladmission: %w", err)
		}
		o.limiter = limiter
		return nil
	}
}
