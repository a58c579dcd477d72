package grpcmw_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
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

// B04: a slot is free when the work is over, not when its client stopped waiting.
func TestCancelReleasesNoSlotWhileTheWorkGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running := &gauge{}
		ctrl := control(t, only(pinned(2, 100)))
		client := pair(t, ctrl, grpcmw.Config{}, &service{
			unary: func(context.Context, *testgrpc.SimpleRequest) (*testgrpc.SimpleResponse, error) {
				running.Enter()
				defer running.Leave()
				time.Sleep(300 * time.Millisecond) // deaf to its context
				return &testgrpc.SimpleResponse{}, nil
			},
		})
		start := time.Now()
		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(10*time.Millisecond, cancel)
				if _, err := client.UnaryCall(ctx, &testgrpc.SimpleRequest{}); status.Code(err) != codes.Canceled {
					t.Errorf("%v, want it cancelled", err)
				}
			})
		}
		for _, at := range []time.Duration{20, 250} {
			time.Sleep(time.Until(start.Add(at * time.Millisecond)))
			if l := lane(ctrl, ""); l.Inflight != 2 || running.Now() != 2 {
				t.Errorf("inflight is %d after %d ms, want 2 until the handlers return", l.Inflight, at)
			}
		}
		calls.Wait()
		time.Sleep(time.Second)
		l := lane(ctrl, "")
		if n := l.Service.Total(); n != 0 || running.Most() != 2 {
			t.Errorf("%d samples, %d ran at once: want none, and 2", n, running.Most())
		}
		if n := counts(ctrl); n.Left != 18 || n.Outcomes[admission.Ignore] != 2 {
			t.Errorf("%d left the queue, outcomes %v, want 18, and 2 ignored", n.Left, n.Outcomes)
		}
	})
}

// nowhere is a map that cannot be written to.
func nowhere() map[int]int { return nil }

var errOwn = errors.New("own")

var abnormalEnds = map[string]struct {
	end  func()
	want func(p any) bool
}{
	"panic":        {func() { panic(errOwn) }, func(p any) bool { return p == errOwn }},
	"nil map":      {func() { nowhere()[0] = 1 }, func(p any) bool { _, ok := p.(runtime.Error); return ok }},
	"panic of nil": {func() { panic(nil) }, func(p any) bool { _, ok := p.(*runtime.PanicNilError); return ok }},
	"goexit":       {runtime.Goexit, func(p any) bool { return p == nil }},
}

// bareStream is a stream without a transport.
type bareStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s bareStream) Context() context.Context { return s.ctx }

// B06: however a handler ends, its slot comes back once, and what it panicked
// with reaches the layer outside untouched.
func TestEveryEndOfAHandlerGivesTheSlotBack(t *testing.T) {
	const n = 1000
	cfg := grpcmw.Config{Hold: func(string) bool { return true }}
	for name, e := range abnormalEnds {
		t.Run(name, func(t *testing.T) {
			s := &spy{}
			ctrl := control(t, only(pinned(3, 1)), watched(s))
			unary, stream := grpcmw.UnaryServerInterceptor(ctrl, cfg), grpcmw.StreamServerInterceptor(ctrl, cfg)
			calls := map[string]func(){
				"unary": func() {
					_, _ = unary(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: unaryMethod}, func(context.Context, any) (any, error) {
						e.end()
						return nil, nil
					})
				},
				"stream": func() {
					_ = stream("srv", bareStream{ctx: t.Context()}, &grpc.StreamServerInfo{FullMethod: bidiMethod}, func(any, grpc.ServerStream) error {
						e.end()
						return nil
					})
				},
			}
			for kind, call := range calls {
				for range n {
					var passed any
					done := make(chan struct{})
					go func() { // its own, for Goexit
						defer close(done)
						defer func() { passed = recover() }()
						call()
					}()
					<-done
					if !e.want(passed) {
						t.Fatalf("%s: %v came out", kind, passed)
					}
				}
			}
			if s.Count(admission.Failure) != n || s.Count(admission.Ignore) != n || len(s.Outcomes()) != 2 {
				t.Errorf("outcomes %v, want %d calls failed and %d streams ignored", s.Outcomes(), n, n)
			}
		})
	}
}

// B06, on a real server with a recovery layer outside and inside.
func TestPanicsOnAServer(t *testing.T) {
	const n = 200
	for name, e := range abnormalEnds {
		if name == "goexit" {
			continue // the server itself never ends such a call
		}
		for _, outside := range []bool{true, false} {
			s := &spy{}
			ctrl := control(t, only(pinned(3, 1)), watched(s))
			recoverUnary, recoverStream := recovering(func(p any) {
				if !e.want(p) {
					t.Errorf("%s: %v came out", name, p)
				}
			})
			opts := []grpc.ServerOption{grpc.ChainUnaryInterceptor(recoverUnary), grpc.ChainStreamInterceptor(recoverStream)}
			ours := grpcmw.ServerOptions(ctrl, grpcmw.Config{Hold: func(string) bool { return true }})
			if outside {
				opts = append(opts, ours...)
			} else {
				opts = append(ours, opts...)
			}
			_, lis := serve(t, &service{
				unary: func(context.Context, *testgrpc.SimpleRequest) (*testgrpc.SimpleResponse, error) {
					e.end()
					return nil, nil
				},
				bidi: func(testgrpc.TestService_FullDuplexCallServer) error {
					e.end()
					return nil
				},
			}, opts...)
			client := testgrpc.NewTestServiceClient(dial(t, lis))
			for range n {
				if r := ask(t.Context(), client); r.code != codes.Internal || r.text != "panicked" {
					t.Fatalf("%s, recovery outside %v: call %+v", name, outside, r)
				}
				if r := open(t.Context(), client); r.code != codes.Internal || r.text != "panicked" {
					t.Fatalf("%s, recovery outside %v: stream %+v", name, outside, r)
				}
			}
			if s.Count(admission.Failure) != n || s.Count(admission.Ignore) != n {
				t.Errorf("%s, recovery outside %v: outcomes %v, want %d of each", name, outside, s.Outcomes(), n)
			}
		}
	}
}
