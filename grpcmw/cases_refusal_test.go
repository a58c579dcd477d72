package grpcmw_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthgrpc "google.golang.org/grpc/health/grpc_health_v1"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/grpcmw"
	"github.com/spillway-go/spillway/scorecard"
)

// B11: health checks get through whatever the state, and a Watch that lasts is
// not inflight.
func TestHealthChecksPassWhenAllElseIsShed(t *testing.T) {
	s := &spy{Verdict: shedding(&admission.ShedError{Reason: admission.ReasonRegulator})}
	ctrl := control(t, withStreams(only(pinned(1, 1)), 1), watched(s))
	status := health.NewServer()
	_, lis := serve(t, &service{health: status}, grpcmw.ServerOptions(ctrl, grpcmw.Config{StreamLane: "streams"})...)
	conn := dial(t, lis)
	client := healthgrpc.NewHealthClient(conn)
	watch, err := client.Watch(t.Context(), &healthgrpc.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if _, err := client.Check(t.Context(), &healthgrpc.HealthCheckRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := watch.Recv(); err != nil || r.Status != healthgrpc.HealthCheckResponse_SERVING {
		t.Errorf("watch says %v, %v", r, err)
	}
	stats := ctrl.Stats()
	for _, l := range stats.Lanes {
		if l.Inflight != 0 {
			t.Errorf("lane %s: inflight %d", l.Name, l.Inflight)
		}
	}
	if stats.Exempt != 101 || counts(ctrl).Arrived != 0 {
		t.Errorf("%d exempt, %d decided on, want 101 and none", stats.Exempt, counts(ctrl).Arrived)
	}
	if r := ask(t.Context(), testgrpc.NewTestServiceClient(conn)); r.code != codes.Unavailable {
		t.Errorf("another call: %+v", r)
	}
	_ = ctrl.Close()
	if _, err := client.Check(t.Context(), &healthgrpc.HealthCheckRequest{}); err != nil {
		t.Errorf("after Close: %v", err)
	}
	status.Shutdown() // a watch that is told so goes on
	if r, err := watch.Recv(); err != nil || r.Status != healthgrpc.HealthCheckResponse_NOT_SERVING {
		t.Errorf("watch says %v, %v", r, err)
	}
}

// B22: a shed call is not served, gets one answer, and costs the connection
// nothing; a controller that limits nothing sheds nobody.
func TestShedIsNotServed(t *testing.T) {
	var served atomic.Int64
	impl := &service{
		unary: func(context.Context, *testgrpc.SimpleRequest) (*testgrpc.SimpleResponse, error) {
			served.Add(1)
			return &testgrpc.SimpleResponse{}, nil
		},
		bidi: func(testgrpc.TestService_FullDuplexCallServer) error {
			served.Add(1)
			return nil
		},
	}
	ctrl := control(t, only(pinned(1, 1)))
	client := pair(t, ctrl, grpcmw.Config{}, impl)
	ticket := hold(t, ctrl)
	leave := fill(t, ctrl, 1)
	for range 100 {
		if r := ask(t.Context(), client); r.code != codes.Unavailable {
			t.Fatalf("call: %+v", r)
		}
		if r := open(t.Context(), client); r.code != codes.Unavailable {
			t.Fatalf("stream: %+v", r)
		}
	}
	if n := served.Load(); n != 0 {
		t.Errorf("%d shed calls were served", n)
	}
	leave()
	ticket.Release(admission.Ignore)
	if r := ask(t.Context(), client); r.code != codes.OK || served.Load() != 1 {
		t.Errorf("with the slot free: %+v, served %d times", r, served.Load())
	}
	for name, ctrl := range map[string]*admission.Controller{
		"off":       control(t, admission.Config{Mode: admission.Off, Lanes: only(pinned(1, 1)).Lanes}),
		"shadow":    control(t, admission.Config{Mode: admission.Shadow, Lanes: only(pinned(1, 1)).Lanes}),
		"unlimited": control(t, only(pinned(1_000_000, 1))),
		"nil":       nil,
	} {
		t.Run(name, func(t *testing.T) {
			var all sync.WaitGroup
			together, free := make(chan struct{}, 200), make(chan struct{})
			client := pair(t, ctrl, grpcmw.Config{Hold: func(string) bool { return true }}, &service{
				unary: func(context.Context, *testgrpc.SimpleRequest) (*testgrpc.SimpleResponse, error) {
					together <- struct{}{}
					<-free
					return &testgrpc.SimpleResponse{}, nil
				},
				bidi: func(testgrpc.TestService_FullDuplexCallServer) error {
					together <- struct{}{}
					<-free
					return nil
				},
			})
			for range 50 {
				all.Go(func() {
					if r := ask(t.Context(), client); r.code != codes.OK {
						t.Errorf("%+v", r)
					}
				})
				all.Go(func() {
					if r := open(t.Context(), client); r.text != "EOF" {
						t.Errorf("%+v", r)
					}
				})
			}
			for range 100 {
				<-together
			}
			close(free)
			all.Wait()
		})
	}
}

// byMetadata describes calls by what a test sends along.
func byMetadata(ctx context.Context, _ string, _ any) admission.Request {
	value := func(key string) string {
		if v := metadata.ValueFromIncomingContext(ctx, key); len(v) == 1 {
			return v[0]
		}
		return ""
	}
	return admission.Request{Tenant: value("tenant"), Lane: value("lane")}
}

// B26: who is refused can tell why from the code, and when to come back from hints
// that are not the same for all.
func TestRefusalsSayWhenToComeBack(t *testing.T) {
	cfg := only(pinned(1, 1))
	cfg.Scorecard.Rules = []scorecard.Rule{{Name: "forbidden", Match: "tenant:forbidden"}}
	ctrl := control(t, cfg)
	client := pair(t, ctrl, grpcmw.Config{Classify: byMetadata}, &service{})
	defer hold(t, ctrl).Release(admission.Ignore)
	defer fill(t, ctrl, 1)()
	for tenant, want := range map[string]codes.Code{"": codes.Unavailable, "forbidden": codes.ResourceExhausted} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "tenant", tenant)
		hints := map[int64]int{}
		for range 1000 {
			r := ask(ctx, client)
			if r.code != want || len(r.pushback) != 1 || r.retry <= 0 {
				t.Fatalf("%q: %+v, want %v", tenant, r, want)
			}
			hints[r.retry]++
		}
		least, most := int64(1<<40), int64(0)
		for d, n := range hints {
			least, most = min(least, d), max(most, d)
			if n > 500 {
				t.Errorf("%q: %d of 1000 are told %d ms", tenant, n, d)
			}
		}
		if len(hints) < 5 || 2*most < 3*least {
			t.Errorf("%q: hints %v are not spread", tenant, hints)
		}
	}
}

// B26: clients that obey the hint do not come back all at once.
func TestObedientClientsComeBackSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		const over = 5 * time.Second
		shed := shedding(&admission.ShedError{Reason: admission.ReasonRegulator})
		client := pair(t, control(t, admission.Config{}, watched(&spy{Verdict: func(r *admission.Request) error {
			if time.Since(start) < over {
				return shed(r)
			}
			return nil
		}})), grpcmw.Config{}, &service{})
		rng := rand.New(rand.NewPCG(1, 2))
		var mu sync.Mutex
		arrivals := map[int]int{} // per 100 ms after the overload
		var clients sync.WaitGroup
		for range 1000 {
			first := time.Duration(rng.Int64N(int64(time.Second)))
			clients.Go(func() {
				time.Sleep(first)
				for {
					if since := time.Since(start); since >= over {
						mu.Lock()
						arrivals[int((since-over)/(100*time.Millisecond))]++
						mu.Unlock()
					}
					r := ask(t.Context(), client)
					if r.code == codes.OK {
						return
					}
					time.Sleep(time.Duration(r.retry) * time.Millisecond)
				}
			})
		}
		clients.Wait()
		sum, most, last := 0, 0, 0
		for at, n := range arrivals {
			sum, most, last = sum+n, max(most, n), max(last, at)
		}
		mean := float64(sum) / float64(last+1)
		t.Logf("up to %d arrivals in 100 ms at a mean of %.0f", most, mean)
		if sum != 1000 || float64(most) > 3*mean {
			t.Errorf("%d arrivals, up to %d in 100 ms at a mean of %.0f", sum, most, mean)
		}
	})
}

// B40: Close sends those who wait away with a reason of its own, and lets those
// who run finish; the server's own GracefulStop then ends.
func TestCloseAnswersThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctrl := control(t, only(pinned(1, 50)))
		free := make(chan struct{})
		srv, lis := serve(t, &service{unary: func(context.Context, *testgrpc.SimpleRequest) (*testgrpc.SimpleResponse, error) {
			<-free
			return &testgrpc.SimpleResponse{}, nil
		}}, grpcmw.ServerOptions(ctrl, grpcmw.Config{})...)
		client := testgrpc.NewTestServiceClient(dial(t, lis))
		holder := make(chan refusal, 1)
		go func() { holder <- ask(t.Context(), client) }()
		synctest.Wait()
		var refused sync.WaitGroup
		start := time.Now()
		want := func() {
			if r := ask(t.Context(), client); r.code != codes.Unavailable || r.reason != "CLOSED" {
				t.Errorf("%+v", r)
			}
			if took := time.Since(start); took > 100*time.Millisecond {
				t.Errorf("after %v", took)
			}
		}
		for range 50 {
			refused.Go(want)
		}
		synctest.Wait()
		if err := ctrl.Close(); err != nil {
			t.Error(err)
		}
		for range 10 {
			refused.Go(want)
		}
		refused.Wait()
		if n := counts(ctrl).Shed[admission.ReasonClosed]; n != 60 {
			t.Errorf("%d shed as closed, want 60", n)
		}
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			srv.GracefulStop()
		}()
		synctest.Wait()
		close(free)
		if r := <-holder; r.code != codes.OK {
			t.Errorf("who ran got %+v", r)
		}
		<-stopped
		if err := ctrl.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
	})
}
