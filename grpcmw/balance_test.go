package grpcmw_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	_ "google.golang.org/grpc/balancer/weightedroundrobin"
	"google.golang.org/grpc/credentials/insecure"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"github.com/spillway-go/spillway/grpcmw"
)

// replicas are three real servers, the first of them not like the others.
type replicas struct {
	asked  [3]atomic.Int64 // admitted or not
	client testgrpc.TestServiceClient
}

// replica is what a server takes for a call, and how many it takes at once.
type replica struct {
	service time.Duration
	limit   int
}

// startReplicas starts them on loopback, with a client that weighs them by what they report.
func startReplicas(t *testing.T, odd replica, cfg grpcmw.Config) *replicas {
	t.Helper()
	r := &replicas{}
	var at []resolver.Address
	for i := range r.asked {
		kind := replica{service: 5 * time.Millisecond, limit: 100}
		if i == 0 {
			kind = odd
		}
		ctrl := control(t, only(pinned(kind.limit, 10)))
		count := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			r.asked[i].Add(1)
			return handler(ctx, req)
		}
		srv := grpc.NewServer(append(grpcmw.ServerOptions(ctrl, cfg), grpc.WaitForHandlers(true), grpc.UnaryInterceptor(count))...)
		testgrpc.RegisterTestServiceServer(srv, &service{unary: func(context.Context, *testgrpc.SimpleRequest) (*testgrpc.SimpleResponse, error) {
			time.Sleep(kind.service)
			return &testgrpc.SimpleResponse{}, nil
		}})
		lis, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go srv.Serve(lis)
		t.Cleanup(srv.Stop)
		at = append(at, resolver.Address{Addr: lis.Addr().String()})
	}
	names := manual.NewBuilderWithScheme("replicas")
	names.InitialState(resolver.State{Addresses: at})
	conn, err := grpc.NewClient("replicas:///", grpc.WithResolvers(names), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"weighted_round_robin": {"blackoutPeriod": "0.1s", "weightUpdatePeriod": "0.1s"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	r.client = testgrpc.NewTestServiceClient(conn)
	return r
}

// share is how much of the next so many calls the odd one is sent, by clients that each wait for their answers.
func (r *replicas) share(t *testing.T, calls int64) float64 {
	t.Helper()
	var before, asked [3]int64
	for i := range r.asked {
		before[i] = r.asked[i].Load()
	}
	var left atomic.Int64
	left.Store(calls)
	var clients sync.WaitGroup
	for range 20 {
		clients.Go(func() {
			for left.Add(-1) >= 0 {
				_, _ = r.client.UnaryCall(t.Context(), &testgrpc.SimpleRequest{})
			}
		})
	}
	clients.Wait()
	sum := int64(0)
	for i := range r.asked {
		asked[i] = r.asked[i].Load() - before[i]
		sum += asked[i]
	}
	t.Logf("asked %v", asked)
	return float64(asked[0]) / float64(sum)
}

func TestWeightedRoundRobin(t *testing.T) {
	const calls, equal = 300, 1.0 / 3
	for name, odd := range map[string]replica{
		"slow": {service: 100 * time.Millisecond, limit: 100},
		"shed": {service: 50 * time.Millisecond, limit: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they sleep
			r := startReplicas(t, odd, grpcmw.Config{})
			eventually(t, "a call for each", func() bool {
				r.share(t, calls)
				return min(r.asked[0].Load(), r.asked[1].Load(), r.asked[2].Load()) > 0
			})
			if got := r.share(t, calls); got < 0.9*equal || got > 1.1*equal {
				t.Errorf("without reports it is sent %.2f of all calls, want an equal share", got)
			}
			r = startReplicas(t, odd, grpcmw.Config{LoadReports: true})
			eventually(t, "with reports at most half an equal share", func() bool { return r.share(t, calls) <= equal/2 })
			if got := r.share(t, 5*calls); got > equal/2 {
				t.Errorf("with reports it is sent %.2f of all calls, want at most half an equal share", got)
			}
		})
	}
}
