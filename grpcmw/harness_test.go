package grpcmw_test

import (
	"context"
	"net"
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
	"github.com/spillway-go/spillway/grpcmw"
	"github.com/spillway-go/spillway/internal/admissiontest"
)

type (
	spy   = admissiontest.Spy
	gauge = admissiontest.Gauge
)

var (
	shedding               = admissiontest.Shedding
	pinned, only           = admissiontest.Pinned, admissiontest.Only
	control, counts, total = admissiontest.Control, admissiontest.Counts, admissiontest.Total
	hold, fill             = admissiontest.Hold, admissiontest.Fill
)

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
