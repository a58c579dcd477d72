package grpcmw

import (
	"context"

	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/spillway-go/spillway/admission"
)

// TapHandle returns a handle that turns calls of the methods that cfg.Tap picks
// away before their message is read, where [admission.Controller.Precheck] says
// that they are certain to be shed. It takes nothing, so a call that ends
// between it and the interceptor leaks nothing, and it counts as stage "tap".
// [ServerOptions] installs it by itself.
//
// It saves the reading and decoding of what is shed, which pays for messages of
// many kilobytes, and it costs: the handle runs on the connection's reader, so
// that Classify and all that is configured must be quick and not block; calls that
// pass are described twice; what it turns away no stats handler sees (so neither
// does OpenTelemetry's). And a refusal at this place cannot have a trailer, hence
// no pushback: clients with a retry policy will try again.
func TapHandle(ctrl *admission.Controller, cfg Config) tap.ServerInHandle {
	return newServer(ctrl, cfg).tap
}

func (s *server) tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	method := info.FullMethodName
	if s.cfg.Tap == nil || !s.cfg.Tap(method) || s.cfg.Exempt(method) {
		return ctx, nil
	}
	if err := s.ctrl.Precheck(ctx, s.describe(ctx, method, method, nil)); err != nil {
		_, err = s.refusal(ctx, method, err)
		if _, ok := status.FromError(err); !ok { // the server would make PERMISSION_DENIED of it
			err = status.FromContextError(err).Err()
		}
		return ctx, err
	}
	return ctx, nil
}
