package grpcmw_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/grpcmw"
	"github.com/spillway-go/spillway/internal/admissiontest"
	"github.com/spillway-go/spillway/scorecard"
)

// siege is a service of eight workers that strangers attack by one listener while its
// own customers, of t1 and well within their share, go on to call by another. The limit
// finds itself, and one rule keeps all strangers together to half of it.
type siege struct {
	admissiontest.Siege
	own  string // address of the customers' listener
	addr string // of the strangers'
}

func newSiege(t *testing.T) *siege {
	cfg := withStreams(only(admission.LaneConfig{}), 4)
	cfg.Scorecard.Rules = []scorecard.Rule{
		{Name: "customer", Match: "tenant:customer", Cap: scorecard.Cap{N: 1000}},
		{Name: "each tenant", Match: "tenant:*", Cap: scorecard.Cap{Share: 0.5}},
	}
	s := &siege{Siege: admissiontest.Siege{Ctrl: control(t, cfg)}}
	about := grpcmw.Metadata{Priority: "priority", Tenant: "tenant", Caller: "caller", Attempt: "attempt", Baggage: true}
	impl := workshop()
	s.addr = serveOnSocket(t, impl, grpcmw.ServerOptions(s.Ctrl, grpcmw.Config{Metadata: about, StreamLane: "streams", Hold: func(m string) bool { return m == downMethod }}))
	about.Trusted = func(context.Context) bool { return true }
	s.own = serveOnSocket(t, impl, grpcmw.ServerOptions(s.Ctrl, grpcmw.Config{Metadata: about}))
	return s
}

// serveOnSocket serves on loopback and returns the address.
func serveOnSocket(t *testing.T, impl *service, opts []grpc.ServerOption) string {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer(append(opts, grpc.WaitForHandlers(true))...)
	testgrpc.RegisterTestServiceServer(srv, impl)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	t.Cleanup(func() {
		srv.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return lis.Addr().String()
}

// workshop is what the service does: one of eight workers takes 5 ms over a call, a
// large answer is sent as fast as it is read, and a stream is read to its end.
func workshop() *service {
	workers := make(chan struct{}, 8)
	page := &testgrpc.StreamingOutputCallResponse{Payload: &testgrpc.Payload{Body: make([]byte, 32<<10)}}
	return &service{
		unary: func(ctx context.Context, _ *testgrpc.SimpleRequest) (*testgrpc.SimpleResponse, error) {
			select {
			case workers <- struct{}{}:
				time.Sleep(5 * time.Millisecond)
				<-workers
				return &testgrpc.SimpleResponse{}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
		down: func(_ *testgrpc.StreamingOutputCallRequest, ss testgrpc.TestService_StreamingOutputCallServer) error {
			for range 1024 {
				if err := ss.Send(page); err != nil {
					return err
				}
			}
			return nil
		},
		bidi: func(ss testgrpc.TestService_FullDuplexCallServer) error {
			for {
				if _, err := ss.Recv(); err != nil {
					return err
				}
			}
		},
	}
}

// dialSocket is a client of an address, whose connection the caller closes.
func dialSocket(t *testing.T, addr string) (client testgrpc.TestServiceClient, conn *grpc.ClientConn) {
	conn, err := grpc.NewClient("passthrough:"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDisableServiceConfig(), grpc.WithMaxHeaderListSize(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	return testgrpc.NewTestServiceClient(conn), conn
}

// stand has the siege last.
func (s *siege) stand(t *testing.T, attack func(*testing.T, *siege)) {
	client, conn := dialSocket(t, s.own)
	defer conn.Close()
	about := metadata.AppendToOutgoingContext(t.Context(), "tenant", "customer", "priority", "t1")
	s.Stand(t, 256<<20, func() bool {
		ctx, cancel := context.WithTimeout(about, 2*time.Second)
		defer cancel()
		_, err := client.UnaryCall(ctx, &testgrpc.SimpleRequest{})
		if err != nil {
			t.Log(err)
		}
		return err == nil
	}, func() { attack(t, s) })
}

// crowded has n strangers do the same at once, over and over, on a few connections.
func (s *siege) crowded(t *testing.T, n int, do func(ctx context.Context, client testgrpc.TestServiceClient, conn *grpc.ClientConn)) {
	ctx, cancel := context.WithDeadline(t.Context(), s.End)
	defer cancel()
	var all sync.WaitGroup
	for range 8 {
		client, conn := dialSocket(t, s.addr)
		defer conn.Close()
		for range n / 8 {
			all.Go(func() {
				for ctx.Err() == nil {
					do(ctx, client, conn)
				}
			})
		}
	}
	all.Wait()
}

// connected has so many strangers speak on bare connections of their own.
func (s *siege) connected(t *testing.T, n int, speak func(net.Conn)) {
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			conn, err := net.Dial("tcp", s.addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			speak(conn)
		})
	}
	all.Wait()
}

// neverArrived is for strangers who never come as far as the controller.
func (s *siege) neverArrived(t *testing.T) {
	if r := s.Ctrl.Stats().Rules[1]; r.Admitted+r.Refused != 0 {
		t.Errorf("%d calls of strangers arrived, %d of them were refused", r.Admitted+r.Refused, r.Refused)
	}
}

// claims are what strangers put into metadata: false, absurd, huge.
var claims = []string{
	"t0", "t0/0", "t1/127", "exempt", "-1", "0", "NaN", "9223372036854775807", "admission.priority=t0,admission.tenant=customer", "admission.tenant=%0d%0a%00",
	"admission.priority=%", strings.Repeat(",", 6000), strings.Repeat("admission.priority=t0,", 300), strings.Repeat("9", 3000), strings.Repeat("x", 4000),
}

var keys = []string{"priority", "tenant", "caller", "attempt", "baggage", "baggage", "grpc-previous-rpc-attempts", "grpc-retry-pushback-ms"}

func brazen(ctx context.Context) context.Context {
	md := metadata.MD{}
	for _, key := range keys {
		md.Append(key, claims[rand.IntN(len(claims))])
	}
	return metadata.NewOutgoingContext(ctx, md)
}

// Whatever strangers do, the customers are served, at most one in a hundred not, nobody
// passes for more than a stranger, memory is bounded, and in the end nothing is left.
func TestHostileCalls(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of it")
	}
	for name, attack := range map[string]func(*testing.T, *siege){
		"streams that say nothing": func(t *testing.T, s *siege) {
			s.crowded(t, 400, func(ctx context.Context, client testgrpc.TestServiceClient, _ *grpc.ClientConn) {
				if ss, err := client.FullDuplexCall(ctx); err == nil {
					_, _ = ss.Recv()
				}
				time.Sleep(10 * time.Millisecond)
			})
		},
		"slow readers": func(t *testing.T, s *siege) {
			s.crowded(t, 400, func(ctx context.Context, client testgrpc.TestServiceClient, _ *grpc.ClientConn) {
				ss, err := client.StreamingOutputCall(ctx, &testgrpc.StreamingOutputCallRequest{})
				for err == nil {
					_, err = ss.Recv()
					time.Sleep(200 * time.Millisecond)
				}
			})
		},
		"two thousand connections": func(t *testing.T, s *siege) {
			s.connected(t, 2000, func(conn net.Conn) {
				_, _ = conn.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")[:8+rand.IntN(17)])
				time.Sleep(time.Until(s.End))
			})
		},
		"calls whose message never comes": func(t *testing.T, s *siege) {
			s.crowded(t, 2000, func(ctx context.Context, client testgrpc.TestServiceClient, conn *grpc.ClientConn) {
				if _, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, unaryMethod); err == nil {
					<-ctx.Done()
				}
			})
			s.neverArrived(t)
		},
		"headers that never end": func(t *testing.T, s *siege) {
			s.connected(t, 400, func(conn net.Conn) {
				_, err := conn.Write([]byte(openHeaders))
				for err == nil && time.Now().Before(s.End) {
					_, err = conn.Write([]byte(frame(continuationFrame, 0, 1, "\x00\x01x\x01x")))
					time.Sleep(10 * time.Millisecond)
				}
			})
			s.neverArrived(t)
		},
		"absurd claims": func(t *testing.T, s *siege) {
			s.crowded(t, 32, func(ctx context.Context, client testgrpc.TestServiceClient, _ *grpc.ClientConn) {
				_, _ = client.UnaryCall(brazen(ctx), &testgrpc.SimpleRequest{})
			})
		},
		"a retry storm of t0": func(t *testing.T, s *siege) {
			s.crowded(t, 64, func(ctx context.Context, client testgrpc.TestServiceClient, _ *grpc.ClientConn) {
				ctx = metadata.AppendToOutgoingContext(ctx, "priority", "t0", "baggage", "admission.priority=t0", "tenant", "customer")
				_, err := client.UnaryCall(ctx, &testgrpc.SimpleRequest{})
				if c := status.Code(err); err != nil && c != codes.ResourceExhausted && c != codes.Unavailable && c != codes.DeadlineExceeded {
					t.Error(err)
				}
			})
		},
		"made-up tenants of a careless gateway": func(t *testing.T, s *siege) {
			var made atomic.Int64
			s.addr = s.own
			s.crowded(t, 400, func(ctx context.Context, client testgrpc.TestServiceClient, _ *grpc.ClientConn) {
				ctx = metadata.AppendToOutgoingContext(ctx, "tenant", fmt.Sprintf("%d %s", made.Add(1), claims[rand.IntN(len(claims))]))
				_, _ = client.UnaryCall(ctx, &testgrpc.SimpleRequest{})
			})
			t.Logf("%d names", made.Load())
		},
	} {
		t.Run(name, func(t *testing.T) { newSiege(t).stand(t, attack) })
	}
}
