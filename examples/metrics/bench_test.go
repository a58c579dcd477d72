package main

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/oteladmission"
	"github.com/spillway-go/spillway/scorecard"
)

// BenchmarkObserved is a request's whole way, admit and release, of a controller that is observed,
// over that of one that is not, in turns: the metric x-plain, the median of ten. With
//
//	go test ./examples/metrics -run '^$' -bench Observed -benchtime 20000000x
//
// a turn takes half a second, which begins with a scrape.
func BenchmarkObserved(b *testing.B) {
	provider := sdk.NewMeterProvider(sdk.WithReader(sdk.NewManualReader()))
	ctx := trace.ContextWithSpan(context.Background(), noop.Span{})
	alone := func(seen *admission.Controller, n int) { requests(b, ctx, seen, n) }
	b.Run("prometheus", func(b *testing.B) {
		turns(b, ctx, func() (*admission.Controller, error) { return admission.New(config()) }, func(seen *admission.Controller, n int) {
			registry, err := scraped(seen)
			if err != nil {
				b.Fatal(err)
			}
			defer scraping(b, registry)()
			requests(b, ctx, seen, n)
		})
	})
	b.Run("otel", func(b *testing.B) {
		turns(b, ctx, func() (*admission.Controller, error) { return observed(provider, config()) }, alone)
	})
	b.Run("otel-every", func(b *testing.B) {
		turns(b, ctx, func() (*admission.Controller, error) {
			hooks, err := oteladmission.Hooks(provider, admission.Hooks{}, oteladmission.EveryDecision())
			if err != nil {
				return nil, err
			}
			return admission.New(config(), admission.WithHooks(hooks))
		}, alone)
	})
}

func config() admission.Config {
	return admission.Config{
		Lanes: map[string]admission.LaneConfig{"default": {Limit: admission.LimitConfig{Fixed: 1000}}},
		Scorecard: admission.ScorecardConfig{Rules: []scorecard.Rule{
			{Name: "each", Match: "tenant:*", Cap: scorecard.Cap{N: 100}},
			{Name: "op", Match: "op:*", Cap: scorecard.Cap{N: 1000}},
		}},
	}
}

func requests(b *testing.B, ctx context.Context, c *admission.Controller, n int) {
	for range n {
		t, err := c.Admit(ctx, admission.Request{Priority: admission.T1.Priority(), Tenant: "acme", Op: "read", Key: "order-17"})
		if err != nil {
			b.Fatal(err)
		}
		t.Release(admission.Success)
	}
}

// scraping scrapes now and every second, until what it returns is called.
func scraping(b *testing.B, from prometheus.Gatherer) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			if _, err := from.Gather(); err != nil {
				b.Error(err)
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return func() { cancel(); <-over }
}

// turns runs both sides in turns and reports the median of the ratios. Each turn has
// controllers of its own: where in memory one happens to lie is worth some percent.
func turns(b *testing.B, ctx context.Context, observed func() (*admission.Controller, error), run func(*admission.Controller, int)) {
	const pairs = 10
	n := max(b.N/pairs/2, 1)
	took := func(make func() (*admission.Controller, error), run func(*admission.Controller, int)) float64 {
		c, err := make()
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		begin := time.Now()
		run(c, n)
		spent := time.Since(begin).Seconds()
		if n := testing.AllocsPerRun(100, func() { requests(b, ctx, c, 1) }); n > 0 {
			b.Errorf("%v allocations", n)
		}
		return spent
	}
	var ratios []float64
	for range pairs {
		base := took(func() (*admission.Controller, error) { return admission.New(config()) },
			func(c *admission.Controller, n int) { requests(b, ctx, c, n) })
		ratios = append(ratios, took(observed, run)/base)
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[pairs/2], "x-plain")
}
