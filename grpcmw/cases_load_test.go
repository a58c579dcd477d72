package grpcmw_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/grpcmw"
)

// retrying gives a client the retry policy that services have: all that is
// UNAVAILABLE, as often as gRPC allows.
var retrying = grpc.WithDefaultServiceConfig(`{"methodConfig": [{"name": [{}], "retryPolicy": {
	"maxAttempts": 5, "initialBackoff": "0.05s", "maxBackoff": "1s", "backoffMultiplier": 2,
	"retryableStatusCodes": ["UNAVAILABLE"]}}]}`)

func bareUnavailable(context.Context, string, *admission.ShedError) error {
	return status.Error(codes.Unavailable, "overloaded")
}

// The two numbers of a client's retry policy: tries for each call under our
// pushback, and under a bare UNAVAILABLE.
func TestRetriesAreNotAmplified(t *testing.T) {
	tries := func(bare bool, calls int) (tries, served float64) {
		synctest.Test(t, func(t *testing.T) {
			const rate = 1200 // of 400 a second that can be served
			ctrl := control(t, only(admission.LaneConfig{Limit: admission.LimitConfig{Fixed: 4}}))
			cfg := grpcmw.Config{}
			if bare {
				cfg.Reject = bareUnavailable
			}
			_, lis := serve(t, &service{unary: func(context.Context, *testgrpc.SimpleRequest) (*testgrpc.SimpleResponse, error) {
				time.Sleep(10 * time.Millisecond)
				return &testgrpc.SimpleResponse{}, nil
			}}, grpcmw.ServerOptions(ctrl, cfg)...)
			client := testgrpc.NewTestServiceClient(dial(t, lis, retrying))
			var ok atomic.Int64
			var all sync.WaitGroup
			for range calls {
				time.Sleep(time.Second / rate)
				all.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
					defer cancel()
					if _, err := client.UnaryCall(ctx, &testgrpc.SimpleRequest{}); err == nil {
						ok.Add(1)
					}
				})
			}
			all.Wait()
			tries, served = float64(counts(ctrl).Arrived)/float64(calls), float64(ok.Load())/float64(calls)
		})
		return tries, served
	}
	ours, served := tries(false, 2400)
	bare, bareServed := tries(true, 600)
	t.Logf("tries for each call: %.3f with our pushback (%.0f %% served), %.2f with a bare UNAVAILABLE (%.0f %%)",
		ours, 100*served, bare, 100*bareServed)
	if ours >= 1.1 {
		t.Errorf("%.3f tries for each call, want less than 1.1", ours)
	}
	if bare <= 2 {
		t.Errorf("%.2f tries for each call with a bare UNAVAILABLE, want more than 2: the client does not retry", bare)
	}
	if served < 0.25 {
		t.Errorf("%.0f %% served, where a third can be", 100*served)
	}
}

// B32: clients that leave do not move the limit; a server that is too slow for
// its clients' deadlines does. The interceptor alone, for the number of calls.
func TestClientsThatLeaveDoNotMoveTheLimit(t *testing.T) {
	limit := func(t *testing.T, work time.Duration, ask func(i int) (context.Context, context.CancelFunc)) (l admission.LaneStats, median int) {
		synctest.Test(t, func(t *testing.T) {
			ctrl := control(t, tuned(40))
			unary := grpcmw.UnaryServerInterceptor(ctrl, grpcmw.Config{})
			start, dur := time.Now(), 8*time.Second
			var all sync.WaitGroup
			for range 40 {
				all.Go(func() {
					for i := 0; time.Since(start) < dur; i++ {
						ctx, cancel := ask(i)
						_, err := unary(ctx, nil, &grpc.UnaryServerInfo{FullMethod: unaryMethod}, func(ctx context.Context, _ any) (any, error) {
							select {
							case <-time.After(work):
								return "done", nil
							case <-ctx.Done():
								return nil, ctx.Err()
							}
						})
						cancel()
						if status.Code(err) == codes.Unavailable {
							time.Sleep(5 * time.Millisecond)
						}
					}
				})
			}
			var limits []int
			time.Sleep(dur / 2)
			for range 16 { // a single look may fall into a probe, which halves the limit
				time.Sleep(dur / 32)
				l = lane(ctrl, "")
				limits = append(limits, l.Limit)
			}
			all.Wait()
			slices.Sort(limits)
			median = limits[len(limits)/2]
		})
		return l, median
	}
	background := context.Background() // a test's own ends with its bubble
	_, a := limit(t, 20*time.Millisecond, func(int) (context.Context, context.CancelFunc) { return background, func() {} })
	l, b := limit(t, 20*time.Millisecond, func(i int) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(background)
		if i%2 == 1 {
			time.AfterFunc(5*time.Millisecond, cancel)
		}
		return ctx, cancel
	})
	_, c := limit(t, 500*time.Millisecond, func(int) (context.Context, context.CancelFunc) {
		return context.WithTimeout(background, 100*time.Millisecond)
	})
	t.Logf("median limits: %d, %d with clients that leave, %d where every deadline expires; baseline %v", a, b, c, l.Baseline)
	if b*10 < a*9 || b*10 > a*11 {
		t.Errorf("limit is %d with clients that leave, %d without", b, a)
	}
	if l.Baseline < 18*time.Millisecond {
		t.Errorf("baseline is %v: those who left after 5 ms are in it", l.Baseline)
	}
	if c > 20 {
		t.Errorf("limit is %d where every deadline expires, want it well below the 40 it began with", c)
	}
}
