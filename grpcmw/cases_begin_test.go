package grpcmw_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/grpcmw"
)

// B07, mimir#12966: what ends between the arrival of a call and its handler leaks
// nothing: deadlines already past, streams reset, methods unknown, messages that
// cannot be decoded. One processor that is busy besides, and a slow tap, have
// deadlines pass at every point of the way.
func TestCallsThatNeverBegin(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	busy, idle := context.WithCancel(t.Context())
	defer idle()
	go func() {
		for busy.Err() == nil {
			runtime.Gosched()
		}
	}()
	scale := 1
	if testing.Short() {
		scale = 50
	}
	ctrl := control(t, only(pinned(10, 100)))
	_, lis := serve(t, &service{}, grpcmw.ServerOptions(ctrl, grpcmw.Config{
		Tap: onlyUnary,
		Classify: func(_ context.Context, _ string, req any) admission.Request {
			if req == nil && rand.IntN(100) == 0 {
				time.Sleep(time.Millisecond)
			}
			return admission.Request{}
		},
	})...)
	conn := dial(t, lis)
	client := testgrpc.NewTestServiceClient(conn)
	fine := func(after string) {
		t.Helper()
		eventually(t, "quiet after "+after, func() bool { return lane(ctrl, "").Inflight == 0 })
		for range 100 {
			if r := ask(t.Context(), client); r.code != codes.OK {
				t.Fatalf("after %s: %+v", after, r)
			}
		}
	}
	spread(50_000/scale, func(i int) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%20)*100*time.Microsecond)
		defer cancel()
		ask(ctx, client)
	})
	fine("deadlines of 0 to 2 ms")
	spread(5000/scale, func(int) {
		ctx, cancel := context.WithCancel(t.Context())
		_, _ = client.FullDuplexCall(ctx)
		cancel()
	})
	fine("streams reset")
	spread(1000, func(int) {
		err := conn.Invoke(t.Context(), "/grpc.testing.TestService/Unknown", &testgrpc.SimpleRequest{}, &testgrpc.SimpleResponse{})
		if status.Code(err) != codes.Unimplemented {
			t.Errorf("unknown method: %v", err)
		}
	})
	fine("unknown methods")
	spread(1000, func(int) {
		err := conn.Invoke(t.Context(), unaryMethod, &testgrpc.SimpleRequest{}, &testgrpc.SimpleResponse{}, grpc.ForceCodec(rubbish{}))
		if status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "unmarshal") {
			t.Errorf("rubbish: %v", err)
		}
	})
	fine("rubbish")
}

// spread has 16 callers share n calls.
func spread(n int, call func(i int)) {
	var all sync.WaitGroup
	var next atomic.Int64
	for range 16 {
		all.Go(func() {
			for i := int(next.Add(1)); i <= n; i = int(next.Add(1)) {
				call(i)
			}
		})
	}
	all.Wait()
}

// rubbish is a codec whose messages nobody can decode.
type rubbish struct{}

func (rubbish) Marshal(any) ([]byte, error) { return []byte{0xff}, nil }
func (rubbish) Unmarshal([]byte, any) error { return nil }
func (rubbish) Name() string                { return "proto" }
