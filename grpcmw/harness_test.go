package grpcmw_test

import (
	"context"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthgrpc "google.golang.org/grpc/health/grpc_health_v1"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/codel"
	"github.com/spillway-go/spillway/grpcmw"
)

// spy is a stage that remembers what passed it and sheds what verdict says.
type spy struct {
	verdict func(*admission.Request) error // nil: lets all pass

	mu       sync.Mutex
	requests []admission.Request // as Enter saw them, shed ones too
	outcomes map[admission.Outcome]int
	inside   int
}

func (s *spy) Name() string { return "spy" }

func (s *spy) Enter(_ admission.Load, r *admission.Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, *r)
	if s.verdict != nil {
		if err := s.verdict(r); err != nil {
			return err
		}
	}
	s.inside++
	return nil
}

func (s *spy) Exit(_ admission.Load, _ *admission.Request, o admission.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.outcomes == nil {
		s.outcomes = map[admission.Outcome]int{}
	}
	s.outcomes[o]++
	s.inside--
}

// last is the request seen last.
func (s *spy) last() admission.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.requests) == 0 {
		return admission.Request{}
	}
	return s.requests[len(s.requests)-1]
}

func (s *spy) count(o admission.Outcome) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outcomes[o]
}

// shedding is a verdict that sheds all.
func shedding(e *admission.ShedError) func(*admission.Request) error {
	return func(*admission.Request) error { return e }
}

// pinned is a lane of a fixed limit whose waiters wait as long as a test likes.
func pinned(limit, queue int) admission.LaneConfig {
	return admission.LaneConfig{
		Limit:    admission.LimitConfig{Fixed: limit},
		Queue:    codel.Config{Capacity: queue},
		Gate:     admission.GateConfig{Law: "off"},
		Deadline: time.Hour,
	}
}

func only(l admission.LaneConfig) admission.Config {
	return admission.Config{Lanes: map[string]admission.LaneConfig{"default": l}}
}

// control starts a controller for the length of the test, at whose end nothing
// may be left of any request: all that began was settled, once.
func control(t testing.TB, cfg admission.Config, opts ...admission.Option) *admission.Controller {
	t.Helper()
	c, err := admission.New(cfg, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		quiet(t, c)
	})
	return c
}

func quiet(t testing.TB, c *admission.Controller) {
	t.Helper()
	stats := c.Stats()
	for _, l := range stats.Lanes {
		if l.Inflight != 0 || l.Overrun != 0 {
			t.Errorf("lane %s: inflight %d, overrun %d, want none", l.Name, l.Inflight, l.Overrun)
		}
		for tier, ts := range l.Tiers {
			if n := ts.Admitted + total(ts.Shed[:]) + ts.Left; ts.Arrived != n || l.Queued[tier] != 0 {
				t.Errorf("lane %s, t%d: %d arrived, %d settled, %d queued", l.Name, tier, ts.Arrived, n, l.Queued[tier])
			}
			if n := total(ts.Outcomes[:]); ts.Admitted != n {
				t.Errorf("lane %s, t%d: %d admitted, %d released", l.Name, tier, ts.Admitted, n)
			}
		}
	}
	for _, r := range stats.Rules {
		if r.Held != 0 {
			t.Errorf("rule %s: %d held, want none", r.Rule, r.Held)
		}
	}
}

func total(ns []uint64) (sum uint64) {
	for _, n := range ns {
		sum += n
	}
	return sum
}

// counts adds up the tiers of the default lane.
func counts(c *admission.Controller) (sum admission.TierStats) {
	l, _ := c.Stats().Lane("default")
	for _, ts := range l.Tiers {
		sum.Arrived += ts.Arrived
		sum.Admitted += ts.Admitted
		sum.Left += ts.Left
		for i, n := range ts.Shed {
			sum.Shed[i] += n
		}
		for i, n := range ts.Outcomes {
			sum.Outcomes[i] += n
		}
	}
	return sum
}

// hold takes a slot that is not the interceptor's.
func hold(t testing.TB, c *admission.Controller) admission.Ticket {
	t.Helper()
	ticket, err := c.TryAdmit(context.Background(), admission.Request{})
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

// fill has n requests wait in the queue until the returned function is called.
// They are of the best tier, or a newcomer could take their place.
func fill(t testing.TB, c *admission.Controller, n int) (leave func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var waiters sync.WaitGroup
	for range n {
		waiters.Go(func() {
			ticket, _ := c.Admit(ctx, admission.Request{Priority: admission.NewPriority(admission.T0, 0)})
			ticket.Release(admission.Ignore)
		})
	}
	for queued := 0; queued < n; {
		runtime.Gosched()
		l, _ := c.Stats().Lane("default")
		queued = l.Queued[admission.T0]
	}
	return func() {
		cancel()
		waiters.Wait()
	}
}

func watched(s *spy) admission.Option { return admission.WithStages(s) }

// service is gRPC's own test service, each method answered by a function; nil
// for one that answers at once.
type service struct {
	testgrpc.UnimplementedTestServiceServer
	unary func(context.Context, *testgrpc.SimpleRequest) (*testgrpc.SimpleResponse, error)
	down  func(*testgrpc.StreamingOutputCallRequest, testgrpc.TestService_StreamingOutputCallServer) error
	bidi  func(testgrpc.TestService_FullDuplexCallServer) error

	health healthgrpc.HealthServer // served too, unless nil
}

func (s *service) UnaryCall(ctx context.Context, r *testgrpc.SimpleRequest) (*testgrpc.SimpleResponse, error) {
	if s.unary == nil {
		return &testgrpc.SimpleResponse{}, nil
	}
	return s.unary(ctx, r)
}

func (s *service) StreamingOutputCall(r *testgrpc.StreamingOutputCallRequest, ss testgrpc.TestService_StreamingOutputCallServer) error {
	if s.down == nil {
		return nil
	}
	return s.down(r, ss)
}

func (s *service) FullDuplexCall(ss testgrpc.TestService_FullDuplexCallServer) error {
	if s.bidi == nil {
		return nil
	}
	return s.bidi(ss)
}

// Full names of the service's methods.
const (
	unaryMethod = "/grpc.testing.TestService/UnaryCall"
	downMethod  = "/grpc.testing.TestService/StreamingOutputCall"
	bidiMethod  = "/grpc.testing.TestService/FullDuplexCall"
)

// serve has a server run for the length of the test, in the process alone, so that
// it also runs in a bubble of virtual time.
func serve(t testing.TB, impl *service, opts ...grpc.ServerOption) (*grpc.Server, *bufconn.Listener) {
	t.Helper()
	lis := bufconn.Listen(64 << 10)
	srv := grpc.NewServer(append(opts, grpc.WaitForHandlers(true))...)
	testgrpc.RegisterTestServiceServer(srv, impl)
	if impl.health != nil {
		healthgrpc.RegisterHealthServer(srv, impl.health)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	t.Cleanup(func() {
		srv.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return srv, lis
}

// dial returns a connection to a server of serve.
func dial(t testing.TB, lis *bufconn.Listener, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	opts = append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }),
	}, opts...)
	conn, err := grpc.NewClient("passthrough:test", opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// gauge counts how many run and remembers the most.
type gauge struct{ now, most atomic.Int64 }

func (g *gauge) enter() {
	n := g.now.Add(1)
	for {
		m := g.most.Load()
		if n <= m || g.most.CompareAndSwap(m, n) {
			return
		}
	}
}

func (g *gauge) leave() { g.now.Add(-1) }

// lane is a lane's part of the statistics.
func lane(c *admission.Controller, name string) admission.LaneStats {
	l, _ := c.Stats().Lane(name)
	return l
}

// eventually waits for what happens on other goroutines, as long as a slow
// machine may need.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for start := time.Now(); !ok(); time.Sleep(time.Millisecond) {
		if time.Since(start) > 30*time.Second {
			t.Fatalf("not in half a minute: %s", what)
		}
	}
}

// recovering are interceptors that end what panics as INTERNAL, after a look.
func recovering(saw func(any)) (grpc.UnaryServerInterceptor, grpc.StreamServerInterceptor) {
	recovered := func(err *error) {
		if p := recover(); p != nil {
			saw(p)
			*err = status.Error(codes.Internal, "panicked")
		}
	}
	return func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (_ any, err error) {
			defer recovered(&err)
			return handler(ctx, req)
		}, func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
			defer recovered(&err)
			return handler(srv, ss)
		}
}

// pair is a client of a service behind ctrl.
func pair(t testing.TB, ctrl *admission.Controller, cfg grpcmw.Config, impl *service) testgrpc.TestServiceClient {
	t.Helper()
	_, lis := serve(t, impl, grpcmw.ServerOptions(ctrl, cfg)...)
	return testgrpc.NewTestServiceClient(dial(t, lis))
}

// tuned is a lane whose limit finds itself from n on.
func tuned(n int) admission.Config {
	return only(admission.LaneConfig{Limit: admission.LimitConfig{Initial: n}})
}
