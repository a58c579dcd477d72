package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/oteladmission"
	"github.com/spillway-go/spillway/regulators"
	"github.com/spillway-go/spillway/scorecard"
)

// bench is a controller with something of everything, seen by both systems.
type bench struct {
	ctrl     *admission.Controller
	registry *prometheus.Registry
	reader   *sdk.ManualReader
	hooked   [admission.NumReasons]atomic.Int64
	send     func(context.Context, admission.Request)
	free     chan struct{} // a value lets one handler of lane narrow end
}

func newBench(t *testing.T) *bench {
	t.Helper()
	narrow := admission.LaneConfig{Limit: admission.LimitConfig{Fixed: 1}, Gate: admission.GateConfig{Law: "off"}, Deadline: time.Hour}
	narrow.Queue.Capacity, narrow.Queue.Law = 1, "codel"
	narrow.Queue.Target, narrow.Queue.Interval = 59*time.Minute, time.Hour
	hasty := narrow
	hasty.Queue.Target, hasty.Queue.Interval = 5*time.Millisecond, 10*time.Millisecond
	calm := admission.LaneConfig{Limit: admission.LimitConfig{Fixed: 1000}}
	cfg := admission.Config{
		Lanes: map[string]admission.LaneConfig{"narrow": narrow, "hasty": hasty, "calm": calm, "steered": calm},
		Scorecard: admission.ScorecardConfig{Rules: []scorecard.Rule{
			{Name: "none", Match: "tenant:forbidden", Cap: scorecard.Cap{N: 0}},
		}},
		Regulators: map[string]admission.RegulatorConfig{
			"lag":    {Lanes: []string{"steered"}, Period: 10 * time.Millisecond, KP: 100, KI: 100},
			"actors": {Period: 10 * time.Millisecond, KP: 100, KI: 100},
		},
	}
	b := &bench{reader: sdk.NewManualReader()}
	provider := sdk.NewMeterProvider(sdk.WithReader(b.reader))
	hooks, err := oteladmission.Hooks(provider, admission.Hooks{Shed: func(_ context.Context, r admission.Refusal) {
		b.hooked[r.Err.Reason].Add(1)
	}})
	if err != nil {
		t.Fatal(err)
	}
	b.ctrl, err = admission.New(cfg, admission.WithHooks(hooks), admission.WithStages(stage{}), admission.WithGuard("guard", guard{}),
		admission.WithSignal("lag", regulators.Func(func(context.Context) (float64, error) {
			return 100, nil // far above its setpoint
		})),
		admission.WithKeyedSignal("actors", actors{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.ctrl.Close() })
	if _, err := oteladmission.Register(provider, b.ctrl); err != nil {
		t.Fatal(err)
	}
	if b.registry, err = scraped(b.ctrl); err != nil {
		t.Fatal(err)
	}
	return b
}

// admit asks without a transport.
func (b *bench) admit(ctx context.Context, r admission.Request) {
	if ticket, err := b.ctrl.Admit(ctx, r); err == nil {
		ticket.Release(admission.Success)
	}
}

// until waits for the controller to come to a state.
func (b *bench) until(t *testing.T, ok func(admission.Stats) bool) {
	t.Helper()
	for begin := time.Now(); !ok(b.ctrl.Stats()); time.Sleep(time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatalf("the controller does not come there; the lane is %+v", lane(b.ctrl.Stats(), "narrow"))
		}
	}
}

func lane(s admission.Stats, name string) admission.LaneStats {
	l, _ := s.Lane(name)
	return l
}

// press asks until so many were shed for a reason that takes its time.
func (b *bench) press(t *testing.T, why admission.Reason, r admission.Request) {
	t.Helper()
	for begin := time.Now(); b.hooked[why].Load() < each; {
		b.send(t.Context(), r)
		if time.Since(begin) > time.Minute {
			t.Fatalf("%v: %d were shed", why, b.hooked[why].Load())
		}
	}
}

// fillQueue provokes what a lane of one slot and one place has to say.
func (b *bench) fillQueue(t *testing.T) {
	t.Helper()
	var wg sync.WaitGroup
	ctx := t.Context()
	queued := func(n int) {
		b.until(t, func(s admission.Stats) bool {
			sum := 0
			for _, q := range lane(s, "narrow").Queued {
				sum += q
			}
			return sum == n
		})
	}
	waiter := func(ctx context.Context, tier admission.Tier) {
		wg.Go(func() { b.send(ctx, admission.Request{Lane: "narrow", Priority: tier.Priority()}) })
		queued(1)
	}
	hold := func(name string) admission.Ticket {
		ticket, err := b.ctrl.TryAdmit(ctx, admission.Request{Lane: name})
		if err != nil {
			t.Fatal(err)
		}
		return ticket
	}
	slot, hasty := hold("narrow"), hold("hasty")
	for range each {
		if _, err := b.ctrl.TryAdmit(ctx, admission.Request{Lane: "narrow"}); err == nil { // no transport asks so
			t.Fatal("admitted")
		}
		b.send(ctx, admission.Request{Lane: "hasty"}) // waits for longer than it may

		ctx, cancel := context.WithCancel(ctx)
		waiter(ctx, admission.T3)
		cancel() // the caller leaves
		queued(0)

		waiter(t.Context(), admission.T5)
		gone := b.hooked[admission.ReasonEvicted].Load()
		better, cancel := context.WithCancel(t.Context())
		wg.Go(func() { b.send(better, admission.Request{Lane: "narrow", Priority: admission.T1.Priority()}) })
		b.until(t, func(admission.Stats) bool { return b.hooked[admission.ReasonEvicted].Load() > gone })
		b.send(t.Context(), admission.Request{Lane: "narrow", Priority: admission.T5.Priority()}) // finds no place
		slot.Release(admission.Success)
		b.free <- struct{}{} // the better one is served
		b.until(t, func(s admission.Stats) bool { return lane(s, "narrow").Inflight == 0 })
		cancel()
		slot = hold("narrow")
	}
	slot.Release(admission.Success)
	hasty.Release(admission.Success)
	wg.Wait()
}

// scrape is how many requests Prometheus sees, by decision and reason.
func (b *bench) scrape(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := b.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := map[string]float64{}
	for _, f := range families {
		if f.GetName() != "admission_requests_total" {
			continue
		}
		for _, m := range f.Metric {
			labels := map[string]string{}
			for _, l := range m.Label {
				labels[l.GetName()] = l.GetValue()
			}
			sum[labels["decision"]+" "+labels["reason"]] += m.Counter.GetValue()
		}
	}
	return sum
}

// read is the same by OpenTelemetry.
func (b *bench) read(t *testing.T) map[string]float64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := b.reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	sum := map[string]float64{}
	value := func(s attribute.Set, key attribute.Key) string { v, _ := s.Value(key); return v.AsString() }
	for _, scope := range all.ScopeMetrics {
		i := slices.IndexFunc(scope.Metrics, func(m metricdata.Metrics) bool { return m.Name == "admission.requests" })
		for _, p := range scope.Metrics[i].Data.(metricdata.Sum[float64]).DataPoints {
			sum[value(p.Attributes, "admission.decision")+" "+value(p.Attributes, "admission.reason")] += p.Value
		}
	}
	return sum
}

type stage struct{}

func (stage) Name() string { return "stage" }

func (stage) Enter(_ admission.Load, r *admission.Request) error {
	if r.Op == "stage" {
		return errors.New("no")
	}
	return nil
}

func (stage) Exit(admission.Load, *admission.Request, admission.Outcome) {}

type guard struct{}

func (guard) Enter(_ time.Time, key string, _ int64) error {
	if key == "hot" {
		return errors.New("hot")
	}
	return nil
}

func (guard) Exit(string, int64) {}

type actors struct{}

func (actors) Pressures(context.Context) (map[string]float64, error) {
	return map[string]float64{"pressed": 1000}, nil
}
