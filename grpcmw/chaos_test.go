package grpcmw_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/grpcmw"
	"github.com/spillway-go/spillway/httpmw"
	"github.com/spillway-go/spillway/scorecard"
)

// moody are handlers that take their time, fail, panic, are deaf to their context
// or leave a goroutine behind in RecvMsg.
func moody(roll func(n int) int) *service {
	work := func(ctx context.Context) {
		switch d := time.Duration(roll(40)) * time.Millisecond; roll(10) {
		case 0:
			panic("in a mood")
		case 1:
			time.Sleep(d)
		default:
			select {
			case <-time.After(d):
			case <-ctx.Done():
			}
		}
	}
	return &service{
		unary: func(ctx context.Context, _ *testgrpc.SimpleRequest) (*testgrpc.SimpleResponse, error) {
			work(ctx)
			return &testgrpc.SimpleResponse{}, ctx.Err()
		},
		down: func(_ *testgrpc.StreamingOutputCallRequest, ss testgrpc.TestService_StreamingOutputCallServer) error {
			for range roll(5) {
				work(ss.Context())
				if err := ss.Send(&testgrpc.StreamingOutputCallResponse{}); err != nil {
					return err
				}
			}
			return nil
		},
		bidi: func(ss testgrpc.TestService_FullDuplexCallServer) error {
			if roll(4) == 0 {
				go func() { _, _ = ss.Recv() }()
				work(ss.Context())
				return nil
			}
			for {
				if _, err := ss.Recv(); err != nil {
					return err
				}
				work(ss.Context())
				if err := ss.Send(&testgrpc.StreamingOutputCallResponse{}); err != nil {
					return err
				}
			}
		},
	}
}

// Two servers, one of which is stopped under way, and HTTP share a controller that
// is closed under way. Whatever becomes of each call, nothing of it is left: that
// is what quiet looks at when the test ends.
func TestChaos(t *testing.T) {
	for seed := range uint64(2) {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			rng := rand.New(rand.NewPCG(seed, 7))
			roll := func(n int) int {
				mu.Lock()
				defer mu.Unlock()
				return rng.IntN(n)
			}
			cfg := withStreams(only(admission.LaneConfig{Limit: admission.LimitConfig{Fixed: 4}}), 6)
			cfg.Scorecard.Rules = []scorecard.Rule{{Name: "each", Match: "tenant:*", Cap: scorecard.Cap{N: 8}}}
			ctrl := control(t, cfg)
			classify := func(context.Context, string, any) admission.Request {
				return admission.Request{Tenant: string(rune('a' + roll(4))), Priority: admission.Tier(roll(6)).Priority()}
			}
			recoverUnary, recoverStream := recovering(func(any) {})
			var servers []*grpc.Server
			var clients []testgrpc.TestServiceClient
			for _, c := range []grpcmw.Config{
				{StreamLane: "streams", Messages: messages(grpcmw.MessagesWait), Tap: onlyUnary, LoadReports: true},
				{Hold: func(string) bool { return true }, Messages: messages(grpcmw.MessagesRefuse), Forward: true},
			} {
				c.Classify = classify
				srv, lis := serve(t, moody(roll), append(grpcmw.ServerOptions(ctrl, c),
					grpc.ChainUnaryInterceptor(recoverUnary), grpc.ChainStreamInterceptor(recoverStream))...)
				servers, clients = append(servers, srv), append(clients, testgrpc.NewTestServiceClient(dial(t, lis, retrying)))
			}
			web := httpmw.Wrap(ctrl, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(5 * time.Millisecond) }))
			var callers sync.WaitGroup
			for range 30 {
				callers.Go(func() {
					for range 30 {
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+roll(200))*time.Millisecond)
						client := clients[roll(2)]
						switch roll(5) {
						case 0:
							_, _ = client.UnaryCall(ctx, &testgrpc.SimpleRequest{})
						case 1:
							time.AfterFunc(time.Duration(roll(20))*time.Millisecond, cancel)
							_, _ = client.UnaryCall(ctx, &testgrpc.SimpleRequest{})
						case 2:
							_ = read(ctx, client, &testgrpc.StreamingOutputCallRequest{})
						case 3:
							if ss, err := client.FullDuplexCall(ctx); err == nil {
								for range roll(4) {
									_ = ss.Send(&testgrpc.StreamingOutputCallRequest{})
								}
								_ = ss.CloseSend()
								for err == nil && roll(8) > 0 {
									_, err = ss.Recv()
								}
							}
						case 4:
							web.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil).WithContext(ctx))
						}
						cancel()
					}
				})
			}
			time.Sleep(300 * time.Millisecond)
			servers[0].Stop()
			time.Sleep(300 * time.Millisecond)
			_ = ctrl.Close()
			callers.Wait()
			servers[1].GracefulStop()
			n := counts(ctrl)
			t.Logf("%d arrived, %d admitted, %d left, shed %v", n.Arrived, n.Admitted, n.Left, n.Shed)
			if n.Admitted == 0 || n.Left == 0 || n.Shed[admission.ReasonTenantCap] == 0 || n.Shed[admission.ReasonClosed] == 0 {
				t.Error("not everything has happened")
			}
		})
	}
}
