package grpcmw_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/grpcmw"
)

// refusal is what a client learns of a shed call.
type refusal struct {
	code     codes.Code
	pushback []string
	retry    int64 // ms, of RetryInfo; 0: none
	reason   string
	domain   string
	quota    bool
	headers  int
	text     string
}

func learned(err error, header, trailer metadata.MD) refusal {
	s := status.Convert(err)
	r := refusal{code: s.Code(), pushback: trailer.Get("grpc-retry-pushback-ms"), headers: len(header), text: s.Message()}
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			r.reason, r.domain = d.Reason, d.Domain
		case *errdetails.RetryInfo:
			r.retry = d.RetryDelay.AsDuration().Milliseconds()
		case *errdetails.QuotaFailure:
			r.quota = true
		}
	}
	return r
}

// ask makes one call, of which it wants the refusal.
func ask(ctx context.Context, client testgrpc.TestServiceClient) refusal {
	var header, trailer metadata.MD
	_, err := client.UnaryCall(ctx, &testgrpc.SimpleRequest{}, grpc.Header(&header), grpc.Trailer(&trailer))
	return learned(err, header, trailer)
}

// open opens a stream, of which it wants the refusal.
func open(ctx context.Context, client testgrpc.TestServiceClient) refusal {
	ss, err := client.FullDuplexCall(ctx)
	if err != nil {
		return learned(err, nil, nil)
	}
	_, err = ss.Recv()
	header, _ := ss.Header()
	return learned(err, header, ss.Trailer())
}

// The table of the package comment, as a client sees it, over calls and streams.
func TestWhatAShedCallIsTold(t *testing.T) {
	for reason, want := range map[admission.Reason]codes.Code{
		admission.ReasonDeadline:     codes.DeadlineExceeded,
		admission.ReasonTenantCap:    codes.ResourceExhausted,
		admission.ReasonKeyed:        codes.ResourceExhausted,
		admission.ReasonRegulator:    codes.Unavailable,
		admission.ReasonStage:        codes.Unavailable,
		admission.ReasonPriority:     codes.Unavailable,
		admission.ReasonLimit:        codes.Unavailable,
		admission.ReasonQueueFull:    codes.Unavailable,
		admission.ReasonQueueTimeout: codes.Unavailable,
		admission.ReasonEvicted:      codes.Unavailable,
		admission.ReasonClosed:       codes.Unavailable,
	} {
		t.Run(reason.String(), func(t *testing.T) {
			s := &spy{Verdict: shedding(&admission.ShedError{Reason: reason})}
			client := pair(t, control(t, admission.Config{}, watched(s)), grpcmw.Config{}, &service{
				unary: func(context.Context, *testgrpc.SimpleRequest) (*testgrpc.SimpleResponse, error) {
					t.Error("a shed call was served")
					return nil, nil
				},
				bidi: func(testgrpc.TestService_FullDuplexCallServer) error {
					t.Error("a shed stream was served")
					return nil
				},
			})
			for kind, r := range map[string]refusal{"call": ask(t.Context(), client), "stream": open(t.Context(), client)} {
				if r.code != want || r.quota != (want == codes.ResourceExhausted) || r.headers != 0 {
					t.Errorf("%s: %+v, want code %v", kind, r, want)
				}
				name := strings.ToUpper(strings.ReplaceAll(reason.String(), "-", "_"))
				if r.reason != name || r.domain != grpcmw.Domain || !strings.HasSuffix(r.text, "("+reason.String()+")") {
					t.Errorf("%s: %+v, want reason %s", kind, r, name)
				}
				if reason == admission.ReasonDeadline {
					if r.pushback != nil || r.retry != 0 {
						t.Errorf("%s: a hint: %+v", kind, r)
					}
					continue
				}
				if len(r.pushback) != 1 {
					t.Fatalf("%s: %d pushbacks, want one", kind, len(r.pushback))
				}
				if ms, err := strconv.ParseInt(r.pushback[0], 10, 64); err != nil || ms < 500 || ms > 1500 || ms != r.retry {
					t.Errorf("%s: pushback %s and RetryInfo of %d ms, want the same, half a second to one and a half", kind, r.pushback[0], r.retry)
				}
			}
		})
	}
}

// The lowest tiers, retries, and whoever comes when the budget is spent.
func TestWhoIsToldNotToRetry(t *testing.T) {
	var tier admission.Tier
	s := &spy{Verdict: shedding(&admission.ShedError{Reason: admission.ReasonPriority})}
	client := pair(t, control(t, admission.Config{}, watched(s)), grpcmw.Config{
		Classify: func(context.Context, string, any) admission.Request {
			return admission.Request{Priority: tier.Priority()}
		},
	}, &service{})
	want := func(who string, ctx context.Context, never bool) {
		t.Helper()
		for kind, r := range map[string]refusal{"call": ask(ctx, client), "stream": open(ctx, client)} {
			if len(r.pushback) != 1 || (r.pushback[0] == "-1") != never {
				t.Errorf("%s, %s: pushback %v", who, kind, r.pushback)
			}
		}
	}
	for tier = admission.T0; tier <= admission.T5; tier++ {
		want(tier.String(), t.Context(), tier >= admission.T4)
	}
	tier = admission.T1
	want("a retry", metadata.AppendToOutgoingContext(t.Context(), "grpc-previous-rpc-attempts", "1"), true)
	want("no retry", metadata.AppendToOutgoingContext(t.Context(), "grpc-previous-rpc-attempts", "0"), false)
	invited := 0
	for range 300 {
		if ask(t.Context(), client).pushback[0] != "-1" {
			invited++
		}
	}
	if invited == 0 || invited > 100 {
		t.Errorf("%d of 300 are told to come again while none is served, want what was saved up, at most 100", invited)
	}
	want("heavy shedding", t.Context(), true)
	s.Verdict = nil
	for range 45 {
		if r := ask(t.Context(), client); r.code != codes.OK {
			t.Fatalf("%+v", r)
		}
		if r := open(t.Context(), client); r.text != "EOF" {
			t.Fatalf("%+v", r)
		}
	}
	s.Verdict = shedding(&admission.ShedError{Reason: admission.ReasonPriority})
	invited = 0
	for range 50 {
		if ask(t.Context(), client).pushback[0] != "-1" {
			invited++
		}
	}
	if invited != 9 {
		t.Errorf("%d are told to come again after 90 were served, want a tenth", invited)
	}
}

func TestRejectReplacesAll(t *testing.T) {
	s := &spy{Verdict: shedding(&admission.ShedError{Reason: admission.ReasonEvicted})}
	var method string
	var own error
	client := pair(t, control(t, admission.Config{}, watched(s)), grpcmw.Config{
		Reject: func(ctx context.Context, fullMethod string, shed *admission.ShedError) error {
			method = fullMethod
			if shed.Reason != admission.ReasonEvicted {
				t.Errorf("shed for %v", shed.Reason)
			}
			return own
		},
	}, &service{})
	own = status.Error(codes.Aborted, "come back later")
	if r := ask(t.Context(), client); r.code != codes.Aborted || r.pushback != nil || r.reason != "" {
		t.Errorf("%+v", r)
	}
	if r := open(t.Context(), client); r.code != codes.Aborted || method != bidiMethod {
		t.Errorf("%+v for %s", r, method)
	}
	own = nil // a shed call must not end well
	if r := ask(t.Context(), client); r.code != codes.Unavailable || method != unaryMethod {
		t.Errorf("%+v for %s", r, method)
	}
}

func TestInvalidDescriptionIsInternalAndLoggedOnce(t *testing.T) {
	for name, r := range map[string]admission.Request{"unknown lane": {Lane: "nowhere"}, "negative cost": {Cost: -1}} {
		var log bytes.Buffer
		client := pair(t, control(t, admission.Config{}), grpcmw.Config{
			Classify: func(context.Context, string, any) admission.Request { return r },
			Logger:   slog.New(slog.NewTextHandler(&log, nil)),
		}, &service{})
		for range 3 {
			if r := ask(t.Context(), client); r.code != codes.Internal || strings.Contains(r.text, "nowhere") || r.pushback != nil {
				t.Errorf("%s: %+v", name, r)
			}
		}
		if n := strings.Count(log.String(), "\n"); n != 1 {
			t.Errorf("%s: %d lines logged, want 1:\n%s", name, n, log.String())
		}
	}
}

// A call whose context ended before it was decided on.
func TestContextThatEndsBeforeAdmission(t *testing.T) {
	unary := grpcmw.UnaryServerInterceptor(control(t, only(pinned(1, 1))), grpcmw.Config{})
	left, leave := context.WithCancelCause(t.Context())
	leave(errors.New("connection lost"))
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	for want, ctx := range map[codes.Code]context.Context{codes.Canceled: left, codes.DeadlineExceeded: late} {
		_, err := unary(ctx, nil, &grpc.UnaryServerInfo{FullMethod: unaryMethod}, func(context.Context, any) (any, error) {
			t.Error("it was served")
			return nil, nil
		})
		if status.Code(err) != want {
			t.Errorf("%v, want %v", err, want)
		}
	}
}
