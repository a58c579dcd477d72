package grpcmw

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/orca"

	"github.com/spillway-go/spillway/admission"
)

// UnaryServerInterceptor returns an interceptor that asks ctrl about every unary
// call. It starts nothing and holds nothing: ctrl stays its owner's to close, and
// several servers may share it and the interceptor.
//
// A nil ctrl admits all. An invalid cfg is logged, see [Config.Validate].
func UnaryServerInterceptor(ctrl *admission.Controller, cfg Config) grpc.UnaryServerInterceptor {
	return newServer(ctrl, cfg).unary
}

// StreamServerInterceptor is [UnaryServerInterceptor] for streams.
func StreamServerInterceptor(ctrl *admission.Controller, cfg Config) grpc.StreamServerInterceptor {
	return newServer(ctrl, cfg).stream
}

// ServerOptions has a server ask ctrl about all of its calls: both interceptors,
// chained outside of those that come later, and the tap handle if cfg.Tap is set.
// With [Config.LoadReports] they must come first of all. A server panics when it is
// given two tap handles: who has one of his own calls [TapHandle] in it.
func ServerOptions(ctrl *admission.Controller, cfg Config) []grpc.ServerOption {
	s := newServer(ctrl, cfg)
	var opts []grpc.ServerOption
	if cfg.LoadReports {
		opts = append(opts, orca.CallMetricsServerOption(LoadMetrics(ctrl)))
	}
	if cfg.Tap != nil {
		opts = append(opts, grpc.InTapHandle(s.tap))
	}
	return append(opts, grpc.ChainUnaryInterceptor(s.unary), grpc.ChainStreamInterceptor(s.stream))
}

// server is what the interceptors of one server share.
type server struct {
	ctrl    *admission.Controller
	cfg     Config // checked
	claims  bool   // some metadata describes calls
	retries budget
	logOnce sync.Once
}

func newServer(ctrl *admission.Controller, cfg Config) *server {
	cfg, err := cfg.checked()
	if err != nil {
		cfg.Logger.Error("grpcmw: invalid config, fields at fault are ignored", slog.Any("error", err))
	}
	return &server{ctrl: ctrl, cfg: cfg, claims: cfg.Metadata.describe()}
}

var exempt = admission.Request{Priority: admission.Exempt}

// pass tells whether calls of a method are let through, and counts this one if
// they are exempt.
func (s *server) pass(ctx context.Context, method string) bool {
	if s.ctrl == nil {
		return true
	}
	if !s.cfg.Exempt(method) {
		return false
	}
	// For the count alone: a closed controller is no reason to fail a probe.
	_, _ = s.ctrl.Admit(ctx, exempt)
	return true
}

func (s *server) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if s.pass(ctx, info.FullMethod) {
		return handler(ctx, req)
	}
	s.report(ctx)
	r := s.describe(ctx, info.FullMethod, info.FullMethod, req)
	ticket, err := s.ctrl.Admit(ctx, r)
	if err != nil {
		return nil, s.refuse(ctx, info.FullMethod, err)
	}
	s.retries.earn()
	return s.run(s.forward(ctx, &r), req, handler, ticket)
}

// run serves an admitted call and releases its ticket when the handler is done,
// however it ends.
func (s *server) run(ctx context.Context, req any, handler grpc.UnaryHandler, ticket admission.Ticket) (resp any, err error) {
	outcome := admission.Failure // what a panic or runtime.Goexit leaves; no recover, so both pass untouched
	defer func() { ticket.Release(outcome) }()
	resp, err = handler(ctx, req)
	outcome = s.cfg.Outcome(codeOf(err), ctx.Err())
	return resp, err
}

func (s *server) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	ctx, method := ss.Context(), info.FullMethod
	if s.pass(ctx, method) {
		return handler(srv, ss)
	}
	s.report(ctx)
	op := method
	if srv == nil {
		op = "other" // of an UnknownServiceHandler: its clients make up the names
	}
	policy := MessagesFree
	if s.cfg.Messages != nil {
		policy = s.cfg.Messages(method)
	}
	if policy > MessagesRefuse {
		return s.refuse(ctx, method, fmt.Errorf("grpcmw: Config.Messages returned %d, must be one of the MessagePolicy constants", policy))
	}
	r := s.describe(ctx, method, op, nil)
	opening := r
	opening.Stream = true
	// A stream must not hold what its own messages wait for.
	each := policy != MessagesFree
	hold := !each && s.cfg.Hold(method)
	if !hold && s.cfg.StreamLane != "" && !(each && r.Lane == s.cfg.StreamLane) {
		hold, opening.Lane = true, s.cfg.StreamLane
	}
	ticket, err := s.ctrl.Admit(ctx, opening)
	if err != nil {
		return s.refuse(ctx, method, err)
	}
	s.retries.earn()
	if hold {
		defer ticket.Release(admission.Ignore)
	} else {
		ticket.Release(admission.Ignore)
	}
	return s.serve(srv, ss, method, policy, &r, handler)
}
