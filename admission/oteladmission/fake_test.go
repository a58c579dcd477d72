package oteladmission_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/spillway-go/spillway/internal/admissiontest"
)

// sdk is as much of an SDK as a test of the API's use needs; the real one is tried
// in the examples' module.
type sdk struct {
	noop.MeterProvider

	mu          sync.Mutex
	instruments map[string]string // kind and unit, by name
	callbacks   map[int]metric.Callback
	waits       map[string][]float64 // recorded, by instrument and attributes
}

func newSDK() *sdk {
	return &sdk{instruments: map[string]string{}, callbacks: map[int]metric.Callback{}, waits: map[string][]float64{}}
}

func (s *sdk) Meter(string, ...metric.MeterOption) metric.Meter { return meter{sdk: s} }

type meter struct {
	noop.Meter
	sdk *sdk
}

// observable is any of the three kinds.
type (
	counter struct {
		noop.Float64ObservableCounter
		name string
	}
	level struct {
		noop.Float64ObservableUpDownCounter
		name string
	}
	gauge struct {
		noop.Float64ObservableGauge
		name string
	}
)

func (m meter) note(name, kind, unit, description string) {
	if description == "" {
		kind = "undescribed " + kind
	}
	m.sdk.instruments[name] = kind + " " + unit
}

func (m meter) Float64ObservableCounter(name string, opts ...metric.Float64ObservableCounterOption) (metric.Float64ObservableCounter, error) {
	c := metric.NewFloat64ObservableCounterConfig(opts...)
	m.note(name, "counter", c.Unit(), c.Description())
	return counter{name: name}, nil
}

func (m meter) Float64ObservableUpDownCounter(name string, opts ...metric.Float64ObservableUpDownCounterOption) (metric.Float64ObservableUpDownCounter, error) {
	c := metric.NewFloat64ObservableUpDownCounterConfig(opts...)
	m.note(name, "updowncounter", c.Unit(), c.Description())
	return level{name: name}, nil
}

func (m meter) Float64ObservableGauge(name string, opts ...metric.Float64ObservableGaugeOption) (metric.Float64ObservableGauge, error) {
	c := metric.NewFloat64ObservableGaugeConfig(opts...)
	m.note(name, "gauge", c.Unit(), c.Description())
	return gauge{name: name}, nil
}

func (m meter) Float64Histogram(name string, opts ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	c := metric.NewFloat64HistogramConfig(opts...)
	m.note(name, "histogram", c.Unit(), c.Description())
	return histogram{name: name, sdk: m.sdk}, nil
}

type histogram struct {
	noop.Float64Histogram
	name string
	sdk  *sdk
}

func (h histogram) Record(_ context.Context, v float64, opts ...metric.RecordOption) {
	h.sdk.mu.Lock()
	defer h.sdk.mu.Unlock()
	attributes := metric.NewRecordConfig(opts).Attributes()
	key := h.name + " " + encode(attributes)
	h.sdk.waits[key] = append(h.sdk.waits[key], v)
}

type registration struct {
	noop.Registration
	sdk *sdk
	n   int
}

func (r registration) Unregister() error {
	r.sdk.mu.Lock()
	defer r.sdk.mu.Unlock()
	delete(r.sdk.callbacks, r.n)
	return nil
}

func (m meter) RegisterCallback(f metric.Callback, _ ...metric.Observable) (metric.Registration, error) {
	m.sdk.mu.Lock()
	defer m.sdk.mu.Unlock()
	n := len(m.sdk.callbacks)
	m.sdk.callbacks[n] = f
	return registration{sdk: m.sdk, n: n}, nil
}

// observer keeps what it is told: values by instrument and attributes.
type observer struct {
	noop.Observer
	values map[string]float64
}

func (o observer) ObserveFloat64(i metric.Float64Observable, v float64, opts ...metric.ObserveOption) {
	name := ""
	switch i := i.(type) {
	case counter:
		name = i.name
	case level:
		name = i.name
	case gauge:
		name = i.name
	}
	attributes := metric.NewObserveConfig(opts).Attributes()
	key := name + " " + encode(attributes)
	if _, ok := o.values[key]; ok {
		key = "twice " + key
	}
	o.values[key] = v
}

// collect is what a reader gets.
func (s *sdk) collect(tb testing.TB) map[string]float64 {
	tb.Helper()
	o := observer{values: map[string]float64{}}
	for _, f := range s.callbacks {
		if err := f(context.Background(), o); err != nil {
			tb.Error(err)
		}
	}
	return o.values
}

func encode(s attribute.Set) string { return s.Encoded(attribute.DefaultEncoder()) }

// span records, or not.
type span struct {
	tracenoop.Span
	records    bool
	attributes map[string]string
	events     []string
	status     string
}

func (s *span) IsRecording() bool { return s.records }
func (s *span) SetAttributes(kv ...attribute.KeyValue) {
	for _, a := range kv {
		s.attributes[string(a.Key)] = a.Value.String()
	}
}
func (s *span) AddEvent(name string, _ ...trace.EventOption) { s.events = append(s.events, name) }
func (s *span) SetStatus(c codes.Code, text string)          { s.status = fmt.Sprint(c, " ", text) }

func spanContext(ctx context.Context, records bool) (context.Context, *span) {
	s := &span{records: records, attributes: map[string]string{}}
	return trace.ContextWithSpan(ctx, s), s
}

// start makes a controller that is closed, and found quiet, when the test ends.
var start = admissiontest.Control
