package grpcmw

import (
	"context"
	"errors"
	"log/slog"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/spillway-go/spillway/admission"
)

var errExpired = &admission.ShedError{Reason: admission.ReasonDeadline, Stage: "deadline"}

// refuse is what a call ends with that Admit returned err for, its trailer set.
func (s *server) refuse(ctx context.Context, method string, err error) error {
	shed, err := s.refusal(ctx, method, err)
	if shed != nil {
		// It fails where nobody listens any more, and in a test without a server.
		_ = grpc.SetTrailer(ctx, s.pushback(ctx, shed))
	}
	return err
}

// refusal is what a call ends with, and the refusal behind it where that is
// answered by this package and not by the user's own function.
func (s *server) refusal(ctx context.Context, method string, err error) (*admission.ShedError, error) {
	shed, ok := errors.AsType[*admission.ShedError](err)
	if !ok {
		cause := context.Cause(ctx)
		switch {
		case cause == nil || !errors.Is(err, cause):
			s.logOnce.Do(func() {
				s.cfg.Logger.Error("grpcmw: invalid description of a call, answered INTERNAL; later ones are not logged",
					slog.Any("error", err), slog.String("method", method))
			})
			return nil, errInvalid
		case !errors.Is(ctx.Err(), context.DeadlineExceeded):
			return nil, errLeft
		}
		shed = errExpired
	}
	if s.cfg.Reject != nil {
		if err := s.cfg.Reject(ctx, method, shed); err != nil {
			return nil, err
		}
	}
	return shed, answerTo(shed.Reason, shed.RetryAfter).err
}

// pushback is what a client's retry policy is told. A cap's refusals cost the
// replica little and are its caller's own, so they come out of nobody's budget.
func (s *server) pushback(ctx context.Context, shed *admission.ShedError) metadata.MD {
	code, _ := meaning(shed.Reason)
	switch {
	case shed.RetryAfter == 0:
		return nil
	case shed.RetryAfter < 0 || retried(ctx):
		return doNotRetry
	case code == codes.Unavailable && !s.retries.spend():
		return doNotRetry
	}
	return answerTo(shed.Reason, shed.RetryAfter).pushback
}
