package grpcmw_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
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

// ofMessages describes messages by a tenant of their own.
func ofMessages(_ context.Context, _ string, req any) admission.Request {
	if req != nil {
		return admission.Request{Tenant: "message"}
	}
	return admission.Request{}
}

// A handler may return and leave a goroutine of its own in RecvMsg, as those do
// that read and write independently. What that is given is given back.
func TestHandlerReturnsWhileItsMessageIsAdmitted(t *testing.T) {
	for _, inQueue := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			leave, proceed, received := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			ctrl := control(t, only(pinned(1, 1)), watched(&spy{Verdict: func(r *admission.Request) error {
				if r.Tenant == "message" && !inQueue {
					<-proceed
				}
				return nil
			}}))
			client := pair(t, ctrl, grpcmw.Config{Messages: messages(grpcmw.MessagesWait), Classify: ofMessages}, &service{
				bidi: func(ss testgrpc.TestService_FullDuplexCallServer) error {
					go func() {
						_, err := ss.Recv()
						received <- err
					}()
					<-leave
					return nil
				},
			})
			ss, err := client.FullDuplexCall(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if inQueue {
				defer hold(t, ctrl).Release(admission.Ignore)
			}
			_ = ss.Send(&testgrpc.StreamingOutputCallRequest{})
			synctest.Wait()
			close(leave)
			if _, err := ss.Recv(); err != io.EOF {
				t.Errorf("in the queue %v: the stream ends with %v", inQueue, err)
			}
			close(proceed)
			if err := <-received; inQueue && status.Code(err) != codes.Canceled {
				t.Errorf("in the queue: %v", err)
			}
		})
	}
}

// Who answers for himself says himself when to come back: two values would be one
// too many.
func TestRejectAnswersForMessages(t *testing.T) {
	s := &spy{Verdict: func(r *admission.Request) error {
		if r.Tenant == "message" {
			return &admission.ShedError{Reason: admission.ReasonRegulator}
		}
		return nil
	}}
	client := pair(t, control(t, admission.Config{}, watched(s)), grpcmw.Config{
		Messages: messages(grpcmw.MessagesRefuse),
		Classify: ofMessages,
		Reject: func(ctx context.Context, _ string, _ *admission.ShedError) error {
			_ = grpc.SetTrailer(ctx, metadata.Pairs("grpc-retry-pushback-ms", "7"))
			return status.Error(codes.Aborted, "come back later")
		},
	}, &service{bidi: func(ss testgrpc.TestService_FullDuplexCallServer) error {
		_, err := ss.Recv()
		return err
	}})
	ss, err := client.FullDuplexCall(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = ss.Send(&testgrpc.StreamingOutputCallRequest{})
	_, err = ss.Recv()
	if r := learned(err, nil, ss.Trailer()); r.code != codes.Aborted || len(r.pushback) != 1 || r.pushback[0] != "7" {
		t.Errorf("%+v", r)
	}
}

// A stream does not hold a slot of the lane in which its messages need one.
func TestMessagesInTheLaneOfStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctrl := control(t, withStreams(only(pinned(1, 1)), 1))
		client := pair(t, ctrl, grpcmw.Config{
			StreamLane: "streams", Messages: messages(grpcmw.MessagesWait),
			Classify: func(context.Context, string, any) admission.Request { return admission.Request{Lane: "streams"} },
		}, &service{bidi: echo(0), down: ticking})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		ss, err := client.FullDuplexCall(ctx)
		if err != nil {
			t.Fatal(err)
		}
		_ = ss.Send(&testgrpc.StreamingOutputCallRequest{})
		if _, err := ss.Recv(); err != nil {
			t.Error(err)
		}
		if _, err := client.StreamingOutputCall(ctx, &testgrpc.StreamingOutputCallRequest{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := lane(ctrl, "streams").Inflight; n != 1 {
			t.Errorf("inflight is %d while a stream is open whose messages are free", n)
		}
	})
}

func TestUnknownMessagePolicyIsInternal(t *testing.T) {
	var log bytes.Buffer
	client := pair(t, control(t, admission.Config{}), grpcmw.Config{
		Messages: messages(grpcmw.MessagesRefuse + 1), Logger: slog.New(slog.NewTextHandler(&log, nil)),
	}, &service{bidi: echo(0)})
	for range 2 {
		if r := open(t.Context(), client); r.code != codes.Internal {
			t.Errorf("%+v", r)
		}
	}
	if n := strings.Count(log.String(), "Config.Messages returned 3"); n != 1 {
		t.Errorf("logged %d times, want once:\n%s", n, log.String())
	}
}
