// Command connect serves a connect-go service behind Spillway: its handlers are
// net/http's, so that package httpmw protects them, whichever of the protocols
// Connect, gRPC and gRPC-Web a client speaks. Shed calls get an error of the
// protocol they came in, and streams are told from calls by their procedure. It
// makes a call and opens a stream that are served, and then some that are shed.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strconv"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/httpmw"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

const (
	say   = "/spillway.example.Echo/Say"
	count = "/spillway.example.Echo/Count"
)

// streams are the procedures of streams, which live as long as their callers
// please: what they take must not pass for the time that a call takes.
var streams = map[string]bool{count: true}

// protected wraps a mux of connect handlers.
func protected(ctrl *admission.Controller, mux *http.ServeMux) http.Handler {
	return httpmw.New(ctrl, httpmw.Config{
		Mux:     mux, // a handler's pattern is its procedure
		Headers: httpmw.Headers{Deadlines: []string{"Connect-Timeout-Ms", "Grpc-Timeout"}},
		Stream:  func(r *http.Request) bool { return streams[r.URL.Path] },
		// Without it they give their slot back with their first message.
		StreamLane: "streams",
		Reject:     reject(connect.NewErrorWriter()),
	})(mux)
}

// reject answers a shed call with an error of the call's own protocol.
func reject(errs *connect.ErrorWriter) func(http.ResponseWriter, *http.Request, *admission.ShedError) {
	return func(w http.ResponseWriter, r *http.Request, shed *admission.ShedError) {
		code := connect.CodeUnavailable
		switch shed.Reason {
		case admission.ReasonTenantCap, admission.ReasonKeyed:
			code = connect.CodeResourceExhausted
		case admission.ReasonDeadline:
			code = connect.CodeDeadlineExceeded
		}
		err := connect.NewError(code, errors.New("shed: "+shed.Reason.String()))
		// A gRPC client does not retry a call whose answer has headers beside its
		// trailers, as here. The pushback is for the others.
		pushback := int64(-1)
		if shed.RetryAfter > 0 {
			pushback = shed.RetryAfter.Milliseconds()
			w.Header().Set("Retry-After", strconv.FormatInt(int64((shed.RetryAfter+time.Second-1)/time.Second), 10))
		}
		err.Meta().Set("Grpc-Retry-Pushback-Ms", strconv.FormatInt(pushback, 10))
		_ = errs.Write(w, r, err) // whoever is gone by now need not know
	}
}

// echo says what it is told, and counts its letters.
func echo() *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle(say, connect.NewUnaryHandler(say,
		func(_ context.Context, r *connect.Request[wrapperspb.StringValue]) (*connect.Response[wrapperspb.StringValue], error) {
			return connect.NewResponse(r.Msg), nil
		}))
	mux.Handle(count, connect.NewServerStreamHandler(count,
		func(_ context.Context, r *connect.Request[wrapperspb.StringValue], stream *connect.ServerStream[wrapperspb.StringValue]) error {
			for _, letter := range r.Msg.GetValue() {
				if err := stream.Send(wrapperspb.String(string(letter))); err != nil {
					return err
				}
			}
			return nil
		}))
	return mux
}

func run() error {
	ctrl, err := admission.New(admission.Config{Lanes: map[string]admission.LaneConfig{
		"default": {},
		"streams": {Limit: admission.LimitConfig{Fixed: 1000}},
	}})
	if err != nil {
		return err
	}
	defer ctrl.Close()
	protocols := new(http.Protocols) // gRPC wants HTTP/2; here in the clear
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	srv := &http.Server{Handler: protected(ctrl, echo()), Protocols: protocols, ReadHeaderTimeout: 5 * time.Second}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()

	http2 := new(http.Protocols)
	http2.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: http2}
	ask := func(protocol string, options ...connect.ClientOption) {
		client := func(procedure string) *connect.Client[wrapperspb.StringValue, wrapperspb.StringValue] {
			return connect.NewClient[wrapperspb.StringValue, wrapperspb.StringValue](
				&http.Client{Transport: transport}, "http://"+lis.Addr().String()+procedure, options...)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if reply, err := client(say).CallUnary(ctx, connect.NewRequest(wrapperspb.String("hello"))); err != nil {
			fmt.Printf("%s: call: %v\n", protocol, err)
		} else {
			fmt.Printf("%s: call: %s\n", protocol, reply.Msg.GetValue())
		}
		n, err := letters(client(count).CallServerStream(ctx, connect.NewRequest(wrapperspb.String("hello"))))
		if err != nil {
			fmt.Printf("%s: stream: %v\n", protocol, err)
		} else {
			fmt.Printf("%s: stream: %d letters\n", protocol, n)
		}
	}
	both := func() {
		ask("connect")
		ask("grpc", connect.WithGRPC())
	}
	both()
	_ = ctrl.Close() // sheds all from now on
	both()
	transport.CloseIdleConnections()
	err = srv.Close()
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return err
}

// letters reads a stream to its end.
func letters(stream *connect.ServerStreamForClient[wrapperspb.StringValue], err error) (n int, _ error) {
	if err != nil {
		return 0, err
	}
	defer stream.Close()
	for stream.Receive() {
		n++
	}
	return n, stream.Err()
}
