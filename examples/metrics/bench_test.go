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
	b.Run("prometheus", func(b *testing.B) {
		plain, seen := newControl(b), newControl(b)
		registry, err := scraped(seen)
		if err != nil {
			b.Fatal(err)
		}
		turns(b, func(n int) { requests(b, ctx, plain, n) }, func(n int) {
			defer scraping(b, registry)()
			requests(b, ctx, seen, n)
		})
	})
	b.Run("otel", func(b *testing.B) {
		plain := newControl(b)
		seen, err := observed(provider, config())
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { seen.Close() })
		turns(b, func(n int) { requests(b, ctx, plain, n) }, func(n int) { requests(b, ctx, seen, n) })
		if n := testing.AllocsPerRun(100, func() { requests(b, ctx, seen, 1) }); n > 0 {
			b.Errorf("%v allocations", n)
		}
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

func newControl(b *testing.B) *admission.Controller {
	c, err := admission.New(config())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	return c
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

// turns runs both sides in turns and reports the median of the ratios.
func turns(b *testing.B, plain, with func(n int)) {
	const pairs = 10
	n := max(b.N/pairs/2, 1)
	var ratios []float64
	took := func(f func(int)) float64 {
		begin := time.Now()
		f(n)
		return time.Since(begin).Seconds()
	}
	for range pairs {
		base := took(plain)
		ratios = append(ratios, took(with)/base)
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[pairs/2], "x-plain")
}
