// Command metrics shows a controller to Prometheus and to OpenTelemetry. It serves
// /metrics, overloads itself three times over, and prints every other second what a
// scrape says of demand, limit and sheds.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/oteladmission"
	"github.com/spillway-go/spillway/admission/promadmission"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:9464", "where to serve /metrics")
	length := flag.Duration("for", 20*time.Second, "how long to run")
	flag.Parse()
	if err := run(*addr, *length); err != nil {
		log.Fatal(err)
	}
}

func run(addr string, length time.Duration) error {
	cfg := admission.Config{Lanes: map[string]admission.LaneConfig{"default": {Limit: admission.LimitConfig{Fixed: 10}}}}
	ctrl, err := observed(noop.NewMeterProvider(), cfg) // a program of yours brings its SDK's
	if err != nil {
		return err
	}
	defer ctrl.Close()
	registry, err := scraped(ctrl)
	if err != nil {
		return err
	}
	srv := &http.Server{Addr: addr, Handler: pages(registry), ReadHeaderTimeout: 5 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- srv.ListenAndServe() }()
	defer srv.Close()
	log.Printf("metrics are at http://%s/metrics", addr)

	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	go overload(ctx, ctrl)
	for {
		select {
		case err := <-failed:
			if errors.Is(err, http.ErrServerClosed) {
				return nil
			}
			return err
		case <-ctx.Done():
			return nil
		case <-time.After(2 * time.Second):
			if err := show(registry); err != nil {
				return err
			}
		}
	}
}

// observed makes a controller that OpenTelemetry hears of: its numbers through the
// provider, its decisions on the spans of the requests.
func observed(provider metric.MeterProvider, cfg admission.Config) (*admission.Controller, error) {
	hooks, err := oteladmission.Hooks(provider, admission.Hooks{})
	if err != nil {
		return nil, err
	}
	ctrl, err := admission.New(cfg, admission.WithHooks(hooks))
	if err != nil {
		return nil, err
	}
	if _, err := oteladmission.Register(provider, ctrl); err != nil {
		return nil, errors.Join(err, ctrl.Close())
	}
	return ctrl, nil
}

// scraped makes a registry that has the controller's metrics, the tenants refused
// most among them.
func scraped(ctrl *admission.Controller) (*prometheus.Registry, error) {
	registry := prometheus.NewRegistry()
	if err := promadmission.Register(registry, ctrl, promadmission.WithTopTenants(10)); err != nil {
		return nil, err
	}
	return registry, nil
}

func pages(registry *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return mux
}

// overload asks for three times what ten slots of 40 ms can do.
func overload(ctx context.Context, ctrl *admission.Controller) {
	tick := time.NewTicker(time.Second / 750)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		go func() {
			ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
			defer cancel()
			tier := []admission.Tier{admission.T1, admission.T3, admission.T5}[i%3]
			_ = ctrl.Do(ctx, admission.Request{Priority: tier.Priority()}, func(context.Context) error {
				time.Sleep(40 * time.Millisecond)
				return nil
			})
		}()
	}
}

// show prints some of what a scrape has.
func show(from prometheus.Gatherer) error {
	families, err := from.Gather()
	if err != nil {
		return err
	}
	for _, f := range families {
		for _, m := range f.Metric {
			switch f.GetName() {
			case "admission_demand", "admission_limit", "admission_inflight", "admission_shed_ratio":
				fmt.Printf("%s %.2f\n", f.GetName(), m.GetGauge().GetValue())
			case "admission_requests_total":
				var values []string
				for _, l := range m.GetLabel() {
					values = append(values, l.GetValue())
				}
				if n := m.GetCounter().GetValue(); n > 0 {
					fmt.Printf("  %.0f %s\n", n, strings.Join(values, " "))
				}
			}
		}
	}
	return nil
}
