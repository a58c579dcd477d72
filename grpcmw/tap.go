package grpcmw

import (
	"context"
	"log/slog"
	"runtime/debug"

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
//
// It cannot tell a stream from a call: one that would hold a slot of
// [Config.StreamLane] is judged by the lane that Classify says. A panic in one of
// cfg's functions would hang the whole connection here, whatever recovers from
// those in handlers, so it lets the call pass and is logged, the first one.
func TapHandle(ctrl *admission.Controller, cfg Config) tap.ServerInHandle {
	return newServer(ctrl, cfg).tap
}

func (s *server) tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	err := s.precheck(ctx, info.FullMethodName)
	if _, ok := status.FromError(err); !ok { // the server would make PERMISSION_DENIED of it
		err = status.FromContextError(err).Err()
	}
	return ctx, err
}

func (s *server) precheck(ctx context.Context, method string) (err error) {
	defer func() {
		// No recovery of the user's is around the connection's reader: the whole
		// connection would hang. The interceptor decides instead, inside of them.
		if p := recover(); p != nil {
			err = nil
			s.logOnce.Do(func() {
				s.cfg.Logger.Error("grpcmw: panic in a function of Config that was called for Tap, which lets the call pass; later ones are not logged",
					slog.Any("panic", p), slog.String("method", method), slog.String("stack", string(debug.Stack())))
			})
		}
	}()
	if s.cfg.Tap == nil || !s.cfg.Tap(method) || s.cfg.Exempt(method) {
		return nil
	}
	if err = s.ctrl.Precheck(ctx, s.describe(ctx, method, method, nil)); err != nil {
		_, err = s.refusal(ctx, method, err)
	}
	return err
}
