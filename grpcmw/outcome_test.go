package grpcmw_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/grpcmw"
)

// The rule of the package comment, over every code there is.
func TestOutcomeOfEachCode(t *testing.T) {
	want := map[codes.Code]admission.Outcome{
		codes.Unavailable: admission.Overload, codes.ResourceExhausted: admission.Overload, codes.DeadlineExceeded: admission.Overload,
		codes.Unknown: admission.Failure, codes.Internal: admission.Failure, codes.DataLoss: admission.Failure, codes.Unimplemented: admission.Failure,
		codes.Canceled: admission.Ignore,
	} // Success, for all others
	for code := codes.OK; code <= codes.Unauthenticated; code++ {
		wantOutcome(t, t.Context(), status.Error(code, "of the handler"), want[code])
	}
	for err, outcome := range map[error]admission.Outcome{
		errors.New("own"): admission.Failure,
		fmt.Errorf("called: %w", context.DeadlineExceeded):              admission.Overload,
		fmt.Errorf("called: %w", context.Canceled):                      admission.Ignore,
		fmt.Errorf("called: %w", status.Error(codes.Unavailable, "")):   admission.Overload,
		errors.Join(status.Error(codes.NotFound, ""), context.Canceled): admission.Success,
	} {
		wantOutcome(t, t.Context(), err, outcome)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	for _, code := range []codes.Code{codes.OK, codes.Unavailable, codes.Internal} {
		wantOutcome(t, gone, status.Error(code, "too late"), admission.Ignore)
		wantOutcome(t, late, status.Error(code, "too late"), admission.Overload)
	}
}

// wantOutcome has a handler return err when ctx is how the call's has become.
func wantOutcome(t *testing.T, ctx context.Context, err error, want admission.Outcome) {
	t.Helper()
	s := &spy{}
	unary := grpcmw.UnaryServerInterceptor(control(t, admission.Config{}, watched(s)), grpcmw.Config{})
	become := &becoming{Context: t.Context()}
	_, got := unary(become, nil, &grpc.UnaryServerInfo{FullMethod: unaryMethod}, func(context.Context, any) (any, error) {
		become.Context = ctx
		return nil, err
	})
	if got != err || s.Count(want) != 1 {
		t.Errorf("%v, context %v: outcomes %v, want %v; error %v", err, ctx.Err(), s.Outcomes(), want, got)
	}
}

// becoming is a context that another one takes the place of.
type becoming struct{ context.Context }

func TestOutcomeReplacesTheRule(t *testing.T) {
	s := &spy{}
	unary := grpcmw.UnaryServerInterceptor(control(t, admission.Config{}, watched(s)), grpcmw.Config{
		Outcome: func(code codes.Code, err error) admission.Outcome {
			if code != codes.NotFound || err != nil {
				t.Errorf("%v, %v", code, err)
			}
			return admission.Overload
		},
	})
	_, _ = unary(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: unaryMethod}, func(context.Context, any) (any, error) {
		return nil, status.Error(codes.NotFound, "")
	})
	if s.Count(admission.Overload) != 1 {
		t.Errorf("outcomes %v", s.Outcomes())
	}
}
