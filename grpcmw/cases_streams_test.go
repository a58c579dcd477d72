package grpcmw_test

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/grpcmw"
)

// withStreams is a config with a lane "streams" of its own.
func withStreams(cfg admission.Config, limit int) admission.Config {
	cfg.Lanes["streams"] = admission.LaneConfig{Limit: admission.LimitConfig{Fixed: limit}, Gate: admission.GateConfig{Law: "off"}}
	return cfg
}

// ticking sends a message every 100 ms for 5 s, and may panic in the end.
func ticking(r *testgrpc.StreamingOutputCallRequest, ss testgrpc.TestService_StreamingOutputCallServer) error {
	for range 50 {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ss.Context().Done():
			return ss.Context().Err()
		}
		if err := ss.Send(&testgrpc.StreamingOutputCallResponse{}); err != nil {
			return err
		}
	}
	if r.GetResponseStatus().GetMessage() == "panic" {
		panic("at the end")
	}
	return nil
}

// read reads a stream to its end.
func read(ctx context.Context, client testgrpc.TestServiceClient, request *testgrpc.StreamingOutputCallRequest) error {
	ss, err := client.StreamingOutputCall(ctx, request)
	for err == nil {
		_, err = ss.Recv()
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// B19: streams neither starve short calls nor pass for slow ones, and leave
// nothing behind however they end.
func TestStreamsBesideShortCalls(t *testing.T) {
	for name, c := range map[string]struct {
		lane  string
		begin int // of 6 at once
	}{
		"slot given back when they are open": {"", 6},
		"in a lane of their own":             {"streams", 5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctrl := control(t, withStreams(tuned(5), 5))
				recoverUnary, recoverStream := recovering(func(any) {})
				_, lis := serve(t, &service{
					unary: func(context.Context, *testgrpc.SimpleRequest) (*testgrpc.SimpleResponse, error) {
						time.Sleep(5 * time.Millisecond)
						return &testgrpc.SimpleResponse{}, nil
					},
					down: ticking,
				}, append([]grpc.ServerOption{
					grpc.ChainUnaryInterceptor(recoverUnary), grpc.ChainStreamInterceptor(recoverStream),
				}, grpcmw.ServerOptions(ctrl, grpcmw.Config{StreamLane: c.lane})...)...)
				client := testgrpc.NewTestServiceClient(dial(t, lis))
				cut := dial(t, lis)

				var streams sync.WaitGroup
				stream := func(client testgrpc.TestServiceClient, life time.Duration, message string, want codes.Code) {
					streams.Go(func() {
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						if life > 0 {
							time.AfterFunc(life, cancel)
						}
						err := read(ctx, client, &testgrpc.StreamingOutputCallRequest{ResponseStatus: &testgrpc.EchoStatus{Message: message}})
						if status.Code(err) != want {
							t.Errorf("stream ends with %v, want %v", err, want)
						}
					})
				}
				stream(client, 0, "", codes.OK)
				stream(client, 0, "", codes.OK)
				stream(client, 2*time.Second, "", codes.Canceled)
				stream(client, 0, "panic", codes.Internal)
				stream(testgrpc.NewTestServiceClient(cut), 0, "", codes.Canceled)
				time.AfterFunc(3*time.Second, func() { _ = cut.Close() })

				ok, all := 0, 0
				for range 300 { // 6 s of them
					time.Sleep(20 * time.Millisecond)
					if all++; ask(t.Context(), client).code == codes.OK {
						ok++
					}
				}
				streams.Wait()
				time.Sleep(100 * time.Millisecond)
				t.Logf("%d of %d short calls served", ok, all)
				if ok*100 < all*99 {
					t.Errorf("%d of %d short calls served", ok, all)
				}
				if l := lane(ctrl, ""); l.Service.Total() != uint64(ok) || l.Median > 10*time.Millisecond {
					t.Errorf("%d samples, median %v: want the %d short calls and nothing else", l.Service.Total(), l.Median, ok)
				}
				for _, l := range ctrl.Stats().Lanes {
					if l.Inflight != 0 {
						t.Errorf("lane %s: inflight %d after the streams", l.Name, l.Inflight)
					}
				}
				var refused atomic.Int64
				for range 6 {
					streams.Go(func() {
						ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
						defer cancel()
						if status.Code(read(ctx, client, &testgrpc.StreamingOutputCallRequest{})) == codes.Unavailable {
							refused.Add(1)
						}
					})
				}
				streams.Wait()
				if n := 6 - int(refused.Load()); n != c.begin {
					t.Errorf("%d of 6 streams begin, want %d", n, c.begin)
				}
			})
		})
	}
}

// Done when a stream that holds a slot ends, in whichever way.
func TestEveryEndOfAStreamGivesItsSlotBack(t *testing.T) {
	bulk := &testgrpc.StreamingOutputCallResponse{Payload: &testgrpc.Payload{Body: make([]byte, 32<<10)}}
	for name, end := range map[string]struct {
		bidi func(testgrpc.TestService_FullDuplexCallServer) error
		end  func(ss testgrpc.TestService_FullDuplexCallClient, cancel func())
	}{
		"cancelled": {nil, func(_ testgrpc.TestService_FullDuplexCallClient, cancel func()) { cancel() }},
		"expired":   {nil, func(testgrpc.TestService_FullDuplexCallClient, func()) {}},
		"half-closed": {nil, func(ss testgrpc.TestService_FullDuplexCallClient, _ func()) {
			_ = ss.CloseSend()
		}},
		"half-closed and deaf": {func(ss testgrpc.TestService_FullDuplexCallServer) error {
			<-ss.Context().Done() // reads nothing, so it does not hear of the end
			return nil
		}, func(ss testgrpc.TestService_FullDuplexCallClient, _ func()) { _ = ss.CloseSend() }},
		"never read": {func(ss testgrpc.TestService_FullDuplexCallServer) error {
			for {
				if err := ss.Send(bulk); err != nil {
					return err
				}
			}
		}, func(testgrpc.TestService_FullDuplexCallClient, func()) {}},
		"panicking": {func(ss testgrpc.TestService_FullDuplexCallServer) error {
			_, _ = ss.Recv()
			panic("in the stream")
		}, func(ss testgrpc.TestService_FullDuplexCallClient, _ func()) { _ = ss.CloseSend() }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctrl := control(t, withStreams(only(pinned(1, 1)), 8))
				if end.bidi == nil {
					end.bidi = func(ss testgrpc.TestService_FullDuplexCallServer) error {
						for {
							if _, err := ss.Recv(); err != nil {
								return err
							}
						}
					}
				}
				recoverUnary, recoverStream := recovering(func(any) {})
				_, lis := serve(t, &service{bidi: end.bidi}, append([]grpc.ServerOption{
					grpc.ChainUnaryInterceptor(recoverUnary), grpc.ChainStreamInterceptor(recoverStream),
				}, grpcmw.ServerOptions(ctrl, grpcmw.Config{StreamLane: "streams"})...)...)
				client := testgrpc.NewTestServiceClient(dial(t, lis))
				for range 5 {
					ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
					ss, err := client.FullDuplexCall(ctx)
					if err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					if n := lane(ctrl, "streams").Inflight; n != 1 && name != "panicking" {
						t.Errorf("inflight is %d while it is open", n)
					}
					end.end(ss, cancel)
					time.Sleep(2100 * time.Millisecond)
					if n := lane(ctrl, "streams").Inflight; n != 0 {
						t.Errorf("inflight is %d after its end", n)
					}
					cancel()
				}
				if l := lane(ctrl, "streams"); l.Service.Total() != 0 {
					t.Errorf("%d samples", l.Service.Total())
				}
			})
		})
	}
}

// 10,000 streams opened and dropped, half of them in a lane of their own, leave
// every counter at zero; that is what quiet looks at when the test ends.
func TestTenThousandStreamsDropped(t *testing.T) {
	for _, streamLane := range []string{"", "streams"} {
		ctrl := control(t, withStreams(only(pinned(100, 100)), 200))
		client := pair(t, ctrl, grpcmw.Config{StreamLane: streamLane}, &service{
			bidi: func(ss testgrpc.TestService_FullDuplexCallServer) error {
				_, err := ss.Recv()
				return err
			},
		})
		const callers, each = 10, 500
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				for i := range each {
					ctx, cancel := context.WithCancel(t.Context())
					ss, err := client.FullDuplexCall(ctx)
					if err != nil {
						t.Error(err)
					} else if i%2 == 0 {
						_ = ss.Send(&testgrpc.StreamingOutputCallRequest{})
					}
					cancel()
				}
			})
		}
		all.Wait()
		eventually(t, "inflight 0", func() bool {
			return lane(ctrl, "").Inflight == 0 && lane(ctrl, "streams").Inflight == 0
		})
		for range 100 {
			if r := ask(t.Context(), client); r.code != codes.OK {
				t.Fatalf("%+v afterwards", r)
			}
		}
	}
}

// A stream's length, and its deadline, are no samples even where it shares the
// lane of the calls.
func TestHeldStreamsAreNoSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &spy{}
		ctrl := control(t, only(pinned(3, 3)), watched(s))
		client := pair(t, ctrl, grpcmw.Config{Hold: func(m string) bool { return m == downMethod }}, &service{down: ticking})
		ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), "k", "v"), time.Second)
		defer cancel()
		done := make(chan error)
		go func() { done <- read(ctx, client, &testgrpc.StreamingOutputCallRequest{}) }()
		synctest.Wait()
		if n := lane(ctrl, "").Inflight; n != 1 {
			t.Errorf("inflight is %d while the stream is open", n)
		}
		if err := <-done; status.Code(err) != codes.DeadlineExceeded {
			t.Error(err)
		}
		synctest.Wait()
		if l := lane(ctrl, ""); l.Inflight != 0 || l.Service.Total() != 0 || s.Count(admission.Ignore) != 1 {
			t.Errorf("inflight %d, %d samples, outcomes %v", l.Inflight, l.Service.Total(), s.Outcomes())
		}
	})
}

// Nor is one whose handler goes on when its deadline has passed, by itself or with
// a message, a call that came out too late.
func TestLateStreamsDoNotMoveTheLimit(t *testing.T) {
	for name, cfg := range map[string]grpcmw.Config{
		"held":     {Hold: func(string) bool { return true }},
		"messages": {Messages: messages(grpcmw.MessagesWait)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctrl := control(t, tuned(40))
				client := pair(t, ctrl, cfg, &service{bidi: func(ss testgrpc.TestService_FullDuplexCallServer) error {
					_, _ = ss.Recv()
					time.Sleep(10 * time.Second) // deaf to its context
					return nil
				}})
				for range 30 {
					ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
					defer cancel()
					ss, err := client.FullDuplexCall(ctx)
					if err != nil {
						t.Fatal(err)
					}
					_ = ss.Send(&testgrpc.StreamingOutputCallRequest{})
				}
				time.Sleep(5 * time.Second)
				if l := lane(ctrl, ""); l.Limit < 40 || l.Inflight != 30 {
					t.Errorf("limit %d, inflight %d, want 40 and 30", l.Limit, l.Inflight)
				}
				time.Sleep(6 * time.Second)
			})
		})
	}
}
