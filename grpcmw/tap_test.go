package grpcmw_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/grpcmw"
)

func onlyUnary(method string) bool { return method == unaryMethod }

// What is certain to be shed is turned away before its message is there at all;
// nothing is taken, and it is counted once.
func TestTapTurnsAwayBeforeTheMessage(t *testing.T) {
	var stages []string
	ctrl := control(t, only(pinned(1, 1)), admission.WithHooks(admission.Hooks{
		Shed: func(_ context.Context, r admission.Refusal) { stages = append(stages, r.Err.Stage) },
	}))
	client := pair(t, ctrl, grpcmw.Config{Tap: onlyUnary}, &service{})
	ticket := hold(t, ctrl)
	leave := fill(t, ctrl, 1)
	before := counts(ctrl)
	r := ask(t.Context(), client)
	if r.code != codes.Unavailable || r.reason != "QUEUE_FULL" || r.retry == 0 || r.pushback != nil {
		t.Errorf("%+v, want queue-full with its details", r)
	}
	if r := open(t.Context(), client); r.code != codes.Unavailable || len(r.pushback) != 1 {
		t.Errorf("%+v, want a stream to be shed by the interceptor", r)
	}
	after := counts(ctrl)
	if l := lane(ctrl, ""); l.Early != 1 || after.Arrived-before.Arrived != 2 || after.Shed[admission.ReasonQueueFull] != 2 {
		t.Errorf("%d early, %d arrived, shed %v", l.Early, after.Arrived-before.Arrived, after.Shed)
	}
	if len(stages) != 2 || stages[0] != "tap" || stages[1] != "queue" {
		t.Errorf("stages %q, want tap and queue", stages)
	}
	leave()
	ticket.Release(admission.Ignore)
	if r := ask(t.Context(), client); r.code != codes.OK {
		t.Errorf("with the slot free: %+v", r)
	}
}

// A message that cannot be decoded would fail before the interceptor is asked.
func TestTapDoesNotReadTheMessage(t *testing.T) {
	ctrl := control(t, only(pinned(1, 1)))
	_, lis := serve(t, &service{}, grpcmw.ServerOptions(ctrl, grpcmw.Config{Tap: onlyUnary})...)
	conn := dial(t, lis)
	invoke := func() refusal {
		return learned(conn.Invoke(t.Context(), unaryMethod, &testgrpc.SimpleRequest{}, &testgrpc.SimpleResponse{}, grpc.ForceCodec(rubbish{})), nil, nil)
	}
	if r := invoke(); r.code != codes.Internal {
		t.Errorf("rubbish: %+v", r)
	}
	_ = ctrl.Close()
	if r := invoke(); r.code != codes.Unavailable || r.reason != "CLOSED" {
		t.Errorf("rubbish that is shed: %+v", r)
	}
}

// What is exempt passes the tap as well, and calls of any kind a nil controller.
func TestTapLetsPass(t *testing.T) {
	shut := control(t, admission.Config{})
	_ = shut.Close()
	for name, client := range map[string]testgrpc.TestServiceClient{
		"exempt": pair(t, shut, grpcmw.Config{Tap: onlyUnary, Exempt: onlyUnary}, &service{}),
		"nil":    pair(t, nil, grpcmw.Config{Tap: onlyUnary, LoadReports: true, Metadata: grpcmw.Metadata{Priority: "x-priority"}}, &service{}),
	} {
		if r := ask(metadata.AppendToOutgoingContext(t.Context(), "x-priority", "t5"), client); r.code != codes.OK {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// A tap's errors are the server's own, in which what is no status would mean
// PERMISSION_DENIED; the interceptor's mean UNKNOWN.
func TestTapAnswersAsTheInterceptorDoes(t *testing.T) {
	own := errors.New("come back later")
	for name, tap := range map[string]func(string) bool{"tap": onlyUnary, "interceptor": nil} {
		ctrl := control(t, admission.Config{})
		client := pair(t, ctrl, grpcmw.Config{
			Tap:    tap,
			Reject: func(context.Context, string, *admission.ShedError) error { return own },
		}, &service{})
		_ = ctrl.Close()
		if r := ask(t.Context(), client); r.code != codes.Unknown || r.text != own.Error() {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// What panics for the tap, where nothing recovers, panics again, or not, where
// something does.
func TestPanicForTheTapEndsNothing(t *testing.T) {
	var log bytes.Buffer
	recoverUnary, _ := recovering(func(any) {})
	ctrl := control(t, admission.Config{})
	_, lis := serve(t, &service{}, append([]grpc.ServerOption{grpc.ChainUnaryInterceptor(recoverUnary)}, grpcmw.ServerOptions(ctrl, grpcmw.Config{
		Tap: onlyUnary,
		Classify: func(_ context.Context, _ string, req any) admission.Request {
			r := req.(*testgrpc.SimpleRequest) // nil for the tap
			if r.FillUsername {
				panic("of the request")
			}
			return admission.Request{}
		},
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})...)...)
	client := testgrpc.NewTestServiceClient(dial(t, lis))
	for range 2 {
		if r := ask(t.Context(), client); r.code != codes.OK {
			t.Errorf("%+v", r)
		}
	}
	if _, err := client.UnaryCall(t.Context(), &testgrpc.SimpleRequest{FillUsername: true}); status.Code(err) != codes.Internal {
		t.Errorf("%v, want what the recovery makes of a panic", err)
	}
	if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), unaryMethod) {
		t.Errorf("%d lines logged, want 1:\n%s", n, log.String())
	}
}
