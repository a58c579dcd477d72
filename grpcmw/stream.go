package grpcmw

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/spillway-go/spillway/admission"
)

// MessagePolicy says what becomes of the messages that a stream receives.
type MessagePolicy uint8

const (
	// MessagesFree lets them through: the stream was admitted, that is all.
	MessagesFree MessagePolicy = iota

	// MessagesWait admits each message like a call, described by Classify or like
	// its stream, in the lane that says, and holds its slot until the handler asks
	// for the next message or returns. A message that is shed is kept and asked
	// for again after the hint, until it is admitted or the stream ends. Nothing
	// is read meanwhile, so that flow control slows the client down: back-pressure
	// instead of an error. Only a controller that is closed ends the stream.
	MessagesWait

	// MessagesRefuse does the same, but a message that is shed ends RecvMsg with
	// the status that a call would get, but for the pushback, which is -1: what is
	// in the middle of a stream is not tried again.
	MessagesRefuse
)

// serve runs a stream's handler.
func (s *server) serve(srv any, ss grpc.ServerStream, method string, policy MessagePolicy, r *admission.Request, handler grpc.StreamHandler) error {
	if policy == MessagesFree && !s.cfg.Forward {
		return handler(srv, ss)
	}
	served := &serverStream{
		ServerStream: ss, ctx: s.forward(ss.Context(), r), server: s,
		method: method, request: *r, policy: policy,
	}
	defer served.end()
	return handler(srv, served)
}

// serverStream is a stream whose messages are admitted one by one. Like the
// stream inside, RecvMsg is for one goroutine at a time, which may be another than
// the handler's and still be in it when the handler returns.
type serverStream struct {
	grpc.ServerStream
	ctx     context.Context
	server  *server
	method  string
	request admission.Request // the stream's, for messages that nobody classifies
	policy  MessagePolicy
	told    bool // not to try again

	mu struct {
		sync.Mutex
		ticket admission.Ticket // the last message's
		ended  bool             // the handler has returned
	}
}

func (s *serverStream) Context() context.Context { return s.ctx }

// keep puts a message's ticket in place of the one before, whose slot is given
// back. How long that was held says nothing of how long a message takes: the
// handler may have passed it on.
func (s *serverStream) keep(ticket admission.Ticket) {
	s.mu.Lock()
	if !s.mu.ended {
		s.mu.ticket, ticket = ticket, s.mu.ticket
	}
	s.mu.Unlock()
	ticket.Release(admission.Ignore)
}

// end gives the last message's slot back. None is kept after it.
func (s *serverStream) end() {
	s.mu.Lock()
	s.mu.ended = true
	ticket := s.mu.ticket
	s.mu.Unlock()
	ticket.Release(admission.Ignore)
}

func (s *serverStream) RecvMsg(m any) error {
	if s.policy == MessagesFree {
		return s.ServerStream.RecvMsg(m)
	}
	s.keep(admission.Ticket{})
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	r := s.request
	if s.server.cfg.Classify != nil {
		r = s.server.describe(s.ctx, s.method, s.request.Op, m)
	}
	r.Stream = true
	for {
		ticket, err := s.server.ctrl.Admit(s.ctx, r)
		if err == nil {
			s.keep(ticket)
			return nil
		}
		shed, ok := errors.AsType[*admission.ShedError](err)
		if !ok || s.policy == MessagesRefuse || shed.Reason == admission.ReasonClosed || shed.Reason == admission.ReasonDeadline {
			return s.refuse(err)
		}
		pause(s.ctx, shed.RetryAfter)
	}
}

// refuse is what RecvMsg ends with. Without a pushback a client would retry a
// stream whose first message is refused, and two would be one too many.
func (s *serverStream) refuse(err error) error {
	shed, err := s.server.refusal(s.ctx, s.method, err)
	if shed != nil && !s.told {
		s.told = true
		s.SetTrailer(doNotRetry)
	}
	return err
}

// pause waits as long as a hint says, a second if it says nothing: a message of a
// low tier is told never to come again, but its stream is still there. It ends
// early with ctx, of which the next try hears.
func pause(ctx context.Context, hint time.Duration) {
	if hint <= 0 {
		hint = time.Second
	}
	t := time.NewTimer(hint)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
