package main

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/test/bufconn"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/oteladmission"
	"github.com/spillway-go/spillway/grpcmw"
	"github.com/spillway-go/spillway/httpmw"
	"github.com/spillway-go/spillway/regulators"
	"github.com/spillway-go/spillway/scorecard"
)

// each is how often every reason is provoked.
const each = 10

// B21: every reason there is to refuse, provoked ten times over HTTP and ten times over
// gRPC, stands as ten in what Prometheus scrapes and in what OpenTelemetry's SDK reads,
// each told to the hook once; those refused are in no histogram of served ones.
func TestB21EveryReasonIsCounted(t *testing.T) {
	for name, transport := range map[string]func(*testing.T, *admission.Controller, chan struct{}) func(context.Context, admission.Request){
		"http": overHTTP, "grpc": overGRPC,
	} {
		t.Run(name, func(t *testing.T) { provoke(t, transport) })
	}
}

// bench is a controller with something of everything, seen by both systems.
type bench struct {
	ctrl     *admission.Controller
	registry *prometheus.Registry
	reader   *sdk.ManualReader
	hooked   [admission.NumReasons]atomic.Int64
	send     func(context.Context, admission.Request)
	free     chan struct{} // a value lets one handler of lane narrow end
}

func provoke(t *testing.T, transport func(*testing.T, *admission.Controller, chan struct{}) func(context.Context, admission.Request)) {
	b := newBench(t)
	b.free = make(chan struct{})
	b.send = transport(t, b.ctrl, b.free)
	ctx := t.Context()

	for range each {
		late, cancel := context.WithTimeout(ctx, time.Nanosecond)
		b.admit(late, admission.Request{Lane: "calm"}) // no transport sends what is late already
		cancel()
		b.send(ctx, admission.Request{Lane: "calm", Tenant: "forbidden"})
		b.send(ctx, admission.Request{Lane: "calm", Key: "hot"})
		b.send(ctx, admission.Request{Lane: "calm", Op: "stage"})
	}
	b.press(t, admission.ReasonKeyed, admission.Request{Lane: "calm", Tenant: "pressed"})
	b.press(t, admission.ReasonPriority, admission.Request{Lane: "steered", Priority: admission.T5.Priority()})
	b.fillQueue(t)
	if err := b.ctrl.Close(); err != nil {
		t.Fatal(err)
	}
	for range each {
		b.send(ctx, admission.Request{Lane: "calm"})
	}

	prom, otel := b.scrape(t), b.read(t)
	if !maps.Equal(prom, otel) {
		t.Errorf("Prometheus has %v\nOpenTelemetry %v", prom, otel)
	}
	for r := range admission.NumReasons {
		if n := prom["shed "+r.String()]; n != each {
			t.Errorf("%s: %v, want %d", r, n, each)
		}
		if n := b.hooked[r].Load(); n != each {
			t.Errorf("%s: the hook was told %d times", r, n)
		}
	}
	if prom["left "] != each {
		t.Errorf("%v left, want %d", prom["left "], each)
	}
	arrived, served, succeeded := 0.0, uint64(0), uint64(0)
	for _, l := range b.ctrl.Stats().Lanes {
		for _, tier := range l.Tiers {
			arrived += float64(tier.Arrived)
			succeeded += tier.Outcomes[admission.Success]
		}
		served += l.Service.Total()
	}
	all := 0.0
	for _, n := range prom {
		all += n
	}
	if all != arrived || served != succeeded {
		t.Errorf("of %v that arrived %v were counted; %d succeeded, %d are in the histogram", arrived, all, succeeded, served)
	}
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

// A request is described by its headers, or metadata, of these names.
const sep = "|"

func describe(r admission.Request) string {
	return strings.Join([]string{r.Lane, r.Tenant, r.Key, r.Op, r.Priority.String()}, sep)
}

func described(s string) admission.Request {
	f := strings.Split(s, sep)
	p, _ := admission.ParsePriority(f[4])
	return admission.Request{Lane: f[0], Tenant: f[1], Key: f[2], Op: f[3], Priority: p}
}

// serve is what the handlers do.
func serve(r admission.Request, free chan struct{}) {
	if r.Lane == "narrow" {
		<-free
	}
}

// overHTTP sends requests through httpmw.
func overHTTP(t *testing.T, ctrl *admission.Controller, free chan struct{}) func(context.Context, admission.Request) {
	srv := httptest.NewServer(httpmw.New(ctrl, httpmw.Config{
		Classify: func(r *http.Request) admission.Request { return described(r.Header.Get("X-Request")) },
	})(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { serve(described(r.Header.Get("X-Request")), free) })))
	t.Cleanup(srv.Close)
	return func(ctx context.Context, r admission.Request) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL, nil)
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("X-Request", describe(r))
		if resp, err := srv.Client().Do(req); err == nil {
			resp.Body.Close()
		}
	}
}

type service struct {
	testgrpc.UnimplementedTestServiceServer
	free chan struct{}
}

func (s service) EmptyCall(ctx context.Context, _ *testgrpc.Empty) (*testgrpc.Empty, error) {
	serve(described(metadata.ValueFromIncomingContext(ctx, "request")[0]), s.free)
	return &testgrpc.Empty{}, nil
}

// overGRPC sends requests through grpcmw.
func overGRPC(t *testing.T, ctrl *admission.Controller, free chan struct{}) func(context.Context, admission.Request) {
	lis := bufconn.Listen(1 << 16)
	srv := grpc.NewServer(grpcmw.ServerOptions(ctrl, grpcmw.Config{
		Classify: func(ctx context.Context, _ string, _ any) admission.Request {
			return described(metadata.ValueFromIncomingContext(ctx, "request")[0])
		},
	})...)
	testgrpc.RegisterTestServiceServer(srv, service{free: free})
	go srv.Serve(lis)
	t.Cleanup(srv.Stop)
	conn, err := grpc.NewClient("passthrough:///test", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDisableRetry(),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return lis.Dial() }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	client := testgrpc.NewTestServiceClient(conn)
	return func(ctx context.Context, r admission.Request) {
		_, _ = client.EmptyCall(metadata.AppendToOutgoingContext(ctx, "request", describe(r)), &testgrpc.Empty{})
	}
}
