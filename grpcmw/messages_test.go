package grpcmw_test

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/grpcmw"
)

// echo answers each message after d.
func echo(d time.Duration) func(testgrpc.TestService_FullDuplexCallServer) error {
	return func(ss testgrpc.TestService_FullDuplexCallServer) error {
		for {
			if _, err := ss.Recv(); err != nil {
				if err == io.EOF {
					return nil
				}
				return err
			}
			time.Sleep(d)
			if err := ss.Send(&testgrpc.StreamingOutputCallResponse{}); err != nil {
				return err
			}
		}
	}
}

func messages(p grpcmw.MessagePolicy) func(string) grpcmw.MessagePolicy {
	return func(method string) grpcmw.MessagePolicy {
		if method == bidiMethod {
			return p
		}
		return grpcmw.MessagesFree
	}
}

// Each message takes a slot from its arrival until the next is asked for; between
// messages, and at the end, none is held.
func TestMessagesAreAdmittedOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &spy{}
		ctrl := control(t, withStreams(only(pinned(1, 1)), 5), watched(s))
		client := pair(t, ctrl, grpcmw.Config{
			StreamLane: "streams", Messages: messages(grpcmw.MessagesWait),
			Classify: func(_ context.Context, _ string, req any) admission.Request {
				if r, ok := req.(*testgrpc.StreamingOutputCallRequest); ok {
					return admission.Request{Key: string(r.Payload.GetBody())}
				}
				return admission.Request{}
			},
		}, &service{bidi: echo(50 * time.Millisecond)})
		ss, err := client.FullDuplexCall(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"a", "b", "c"} {
			if err := ss.Send(&testgrpc.StreamingOutputCallRequest{Payload: &testgrpc.Payload{Body: []byte(key)}}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if n, streams := lane(ctrl, "").Inflight, lane(ctrl, "streams").Inflight; n != 1 || streams != 1 || s.Last().Key != key {
				t.Errorf("inflight %d and %d, key %q, while %s is worked on", n, streams, s.Last().Key, key)
			}
			if _, err := ss.Recv(); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if n := lane(ctrl, "").Inflight; n != 0 {
				t.Errorf("inflight %d between messages", n)
			}
		}
		_ = ss.CloseSend()
		if _, err := ss.Recv(); err != io.EOF {
			t.Error(err)
		}
		synctest.Wait()
		if l := lane(ctrl, ""); l.Service.Total() != 0 || counts(ctrl).Outcomes[admission.Ignore] != 3 {
			t.Errorf("%d samples, outcomes %v", l.Service.Total(), counts(ctrl).Outcomes)
		}
	})
}

// With MessagesWait a message that is shed holds up its stream, and so its
// client, until there is room. The others go on when it comes.
func TestMessagesThatWaitSlowTheClientDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := pinned(1, 1)
		cfg.Deadline = 0 // a second, of which a third may be waited
		ctrl := control(t, only(cfg))
		client := pair(t, ctrl, grpcmw.Config{Messages: messages(grpcmw.MessagesWait)}, &service{bidi: echo(0)})
		ss, err := client.FullDuplexCall(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		ticket := hold(t, ctrl)
		var sent atomic.Int64
		go func() {
			for ss.Send(&testgrpc.StreamingOutputCallRequest{Payload: &testgrpc.Payload{Body: make([]byte, 16<<10)}}) == nil {
				sent.Add(1)
			}
		}()
		time.Sleep(10 * time.Second)
		held := sent.Load()
		if n := counts(ctrl); total(n.Shed[:]) < 3 || held > 20 {
			t.Errorf("%d messages sent while none is admitted, %d tries shed: want back-pressure", held, total(n.Shed[:]))
		}
		ticket.Release(admission.Ignore)
		for range 100 {
			if _, err := ss.Recv(); err != nil {
				t.Fatal(err)
			}
		}
		_ = ctrl.Close() // ends what would wait
		for err == nil {
			_, err = ss.Recv()
		}
		if r := learned(err, nil, ss.Trailer()); r.code != codes.Unavailable || r.reason != "CLOSED" || len(r.pushback) != 1 || r.pushback[0] != "-1" {
			t.Errorf("%+v", r)
		}
	})
}

// A client that leaves while its message waits leaves nothing behind.
func TestClientLeavesWhileItsMessageWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctrl := control(t, only(pinned(1, 1)))
		ended := make(chan error, 1)
		client := pair(t, ctrl, grpcmw.Config{Messages: messages(grpcmw.MessagesWait)}, &service{
			bidi: func(ss testgrpc.TestService_FullDuplexCallServer) error {
				_, err := ss.Recv()
				ended <- err
				return err
			},
		})
		for _, inQueue := range []bool{true, false} {
			ctx, cancel := context.WithCancel(t.Context())
			ss, err := client.FullDuplexCall(ctx)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			ticket, leave := hold(t, ctrl), func() {}
			if !inQueue { // it is shed, and comes again after a pause
				waiting, gone := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() {
					defer close(done)
					_, _ = ctrl.Admit(waiting, admission.Request{Priority: admission.T0.Priority()})
				}()
				synctest.Wait()
				leave = func() { gone(); <-done }
			}
			_ = ss.Send(&testgrpc.StreamingOutputCallRequest{})
			synctest.Wait()
			cancel()
			if err := <-ended; status.Code(err) != codes.Canceled {
				t.Errorf("in the queue %v: %v", inQueue, err)
			}
			leave()
			ticket.Release(admission.Ignore)
		}
	})
}

// With MessagesRefuse a message that is shed ends its stream, once, and no policy
// tries the stream again.
func TestMessagesThatAreRefusedEndTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &spy{Verdict: func(r *admission.Request) error {
			if r.Tenant == "message" {
				return &admission.ShedError{Reason: admission.ReasonRegulator}
			}
			return nil
		}}
		ctrl := control(t, admission.Config{}, watched(s))
		opened := 0
		_, lis := serve(t, &service{bidi: func(ss testgrpc.TestService_FullDuplexCallServer) error {
			opened++
			_, err := ss.Recv()
			if _, again := ss.Recv(); status.Code(again) != codes.Unavailable { // it goes on in vain
				t.Errorf("the next message: %v", again)
			}
			return err
		}}, grpcmw.ServerOptions(ctrl, grpcmw.Config{
			Messages: messages(grpcmw.MessagesRefuse),
			Hold: func(string) bool {
				t.Error("asked about a stream whose messages would wait for what it holds")
				return true
			},
			Classify: ofMessages,
		})...)
		client := testgrpc.NewTestServiceClient(dial(t, lis, retrying))
		ss, err := client.FullDuplexCall(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_ = ss.Send(&testgrpc.StreamingOutputCallRequest{})
		_ = ss.Send(&testgrpc.StreamingOutputCallRequest{})
		_, err = ss.Recv()
		if r := learned(err, nil, ss.Trailer()); r.code != codes.Unavailable || r.reason != "REGULATOR" || len(r.pushback) != 1 || r.pushback[0] != "-1" {
			t.Errorf("%+v", r)
		}
		if opened != 1 {
			t.Errorf("the stream was opened %d times", opened)
		}
	})
}
