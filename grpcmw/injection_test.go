package grpcmw_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/grpcmw"
)

// nasty is what ends a line, a string or a value for whoever writes it down as it came,
// with a mark to find it by.
const nasty = "MARK\r\ngrpc-status: 0\r\n\r\n\"'%00\\\x00\x1b[2J\u2028\xff"

// Whatever a call's names and a stage's error are made of, neither status, details nor
// trailer of a refusal has anything of them.
func TestNothingIsInjectedIntoARefusal(t *testing.T) {
	for reason := range admission.NumReasons + 3 { // the last ones are none
		e := &admission.ShedError{Reason: reason, Stage: nasty, Lane: nasty, Err: errors.New(nasty), RetryAfter: time.Second}
		ctrl := control(t, admission.Config{}, watched(&spy{Verdict: shedding(e)}))
		client := pair(t, ctrl, grpcmw.Config{Classify: func(context.Context, string, any) admission.Request {
			return admission.Request{Tenant: nasty, Caller: nasty, Op: nasty, Key: nasty}
		}}, &service{})
		var trailer, header metadata.MD
		_, err := client.UnaryCall(t.Context(), &testgrpc.SimpleRequest{}, grpc.Trailer(&trailer), grpc.Header(&header))
		s, ok := status.FromError(err)
		if text := s.Proto().String(); err == nil || !ok || strings.Contains(text, "MARK") {
			t.Errorf("reason %d: %v", reason, text)
		}
		for name, values := range metadata.Join(header, trailer) {
			if strings.Contains(name+strings.Join(values, ""), "MARK") || name != "content-type" && name != "grpc-retry-pushback-ms" && name != "grpc-status-details-bin" {
				t.Errorf("reason %d: %s: %q", reason, name, values)
			}
		}
	}
}

// What came as a tenant in baggage, escaped, goes on only in a form that gRPC sends:
// else every call of the handler's would fail for what a stranger wrote.
func TestNothingIsInjectedIntoCalls(t *testing.T) {
	var answered error
	inner := pair(t, control(t, admission.Config{}), grpcmw.Config{}, &service{})
	client := pair(t, control(t, admission.Config{}), grpcmw.Config{
		Forward:  true,
		Metadata: grpcmw.Metadata{Tenant: "tenant", Priority: "priority", Baggage: true, Trusted: func(context.Context) bool { return true }},
	}, &service{unary: func(ctx context.Context, r *testgrpc.SimpleRequest) (*testgrpc.SimpleResponse, error) {
		var resp *testgrpc.SimpleResponse
		resp, answered = inner.UnaryCall(ctx, r)
		return resp, answered
	}})
	for _, tenant := range []string{"%0d%0agrpc-status:%200", "%00", "%ff%fe", "%7f", "%e2%80%a8", "%22,%3b=", strings.Repeat("%0a", 2000)} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "baggage", grpcmw.TenantMember+"="+tenant)
		if _, err := client.UnaryCall(ctx, &testgrpc.SimpleRequest{}); err != nil {
			t.Errorf("%.40s: %v; the call it made: %v", tenant, err, answered)
		}
	}
}
