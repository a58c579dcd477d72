package promadmission_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/promadmission"
	"github.com/spillway-go/spillway/internal/admissiontest"
	"github.com/spillway-go/spillway/regulators"
	"github.com/spillway-go/spillway/scorecard"
)

// start makes a controller that is closed, and found quiet, when the test ends.
var start = admissiontest.Control

func register(tb testing.TB, reg prometheus.Registerer, c *admission.Controller, opts ...promadmission.Option) {
	tb.Helper()
	if err := promadmission.Register(reg, c, opts...); err != nil {
		tb.Fatal(err)
	}
}

// scrape is a scrape's families, by name without the common prefix.
func scrape(tb testing.TB, reg prometheus.Gatherer) map[string]*dto.MetricFamily {
	tb.Helper()
	families, err := reg.Gather()
	if err != nil {
		tb.Fatal(err)
	}
	byName := map[string]*dto.MetricFamily{}
	for _, f := range families {
		name, ok := strings.CutPrefix(f.GetName(), "admission_")
		if !ok {
			tb.Errorf("%s has not the prefix", f.GetName())
		}
		byName[name] = f
	}
	return byName
}

// series is every value of a family by its labels, but limiter and those that are empty;
// of a histogram the count.
func series(f *dto.MetricFamily) map[string]float64 {
	values := map[string]float64{}
	for _, m := range f.GetMetric() {
		var labels []string
		for _, l := range m.GetLabel() {
			if l.GetName() != "limiter" && l.GetValue() != "" {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
		}
		values[strings.Join(labels, " ")] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
	}
	return values
}

func want(tb testing.TB, got map[string]*dto.MetricFamily, name, labels string, value float64) {
	tb.Helper()
	if v, ok := series(got[name])[labels]; !ok || v != value {
		tb.Errorf("%s{%s} is %v (there: %v), want %v", name, labels, v, ok, value)
	}
}

// pinned is a lane of so many slots whose waiters wait for as long as they like.
func pinned(limit int) admission.LaneConfig { return admissiontest.Pinned(limit, 10) }

// keyedFunc is a keyed signal.
type keyedFunc func() (map[string]float64, error)

func (f keyedFunc) Pressures(context.Context) (map[string]float64, error) { return f() }

// guard refuses everything but nothing of key "".
type guard struct{}

func (guard) Enter(_ time.Time, key string, _ int64) error {
	if key == "hot" {
		return errors.New("hot")
	}
	return nil
}

func (guard) Exit(string, int64) {}

// everything is a controller that has something of every metric to show.
func everything(t *testing.T) (*admission.Controller, func()) {
	c := start(t, admission.Config{
		Mode:      admission.Shadow,
		Lanes:     map[string]admission.LaneConfig{"default": pinned(1), "write": {}},
		Scorecard: admission.ScorecardConfig{Rules: []scorecard.Rule{{Name: "each", Match: "tenant:*", Cap: scorecard.Cap{N: 1}}}},
	},
		admission.WithSignal("lag", regulators.Func(func(context.Context) (float64, error) { return 2, nil })),
		admission.WithKeyedSignal("bytes", keyedFunc(func() (map[string]float64, error) { return map[string]float64{"acme": 3}, nil })),
		admission.WithGuard("hot", guard{}))
	ctx := t.Context()
	var held []admission.Ticket
	for i := range 100 {
		r := admission.Request{Tenant: fmt.Sprintf("t%d", i), Key: "hot"}
		if i >= 3 {
			r.Key = "" // and on to the gate, which lag has shed
		}
		tk, err := c.Admit(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		if i < 3 {
			held = append(held, tk)
		} else {
			tk.Release(admission.Success)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return c, func() {
		for _, tk := range held {
			tk.Release(admission.Success)
		}
	}
}
