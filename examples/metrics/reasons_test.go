package main

import (
	"context"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/test/bufconn"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/grpcmw"
	"github.com/spillway-go/spillway/httpmw"
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
