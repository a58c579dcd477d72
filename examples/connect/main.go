// Command connect serves a connect-go service behind Spillway: its handlers are
// net/http's, so that package httpmw protects them, whichever of the protocols
// Connect, gRPC and gRPC-Web a client speaks. Shed calls get an error of the
// protocol they came in. It makes a call that is served and one that is shed.
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

// protected wraps a mux of connect handlers.
func protected(ctrl *admission.Controller, mux *http.ServeMux) http.Handler {
	return httpmw.New(ctrl, httpmw.Config{
		Mux:     mux, // a handler's pattern is its procedure
		Headers: httpmw.Headers{Deadlines: []string{"Connect-Timeout-Ms", "Grpc-Timeout"}},
		Reject:  reject(connect.NewErrorWriter()),
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
		pushback := int64(-1) // what gRPC's retry policies heed
		if shed.RetryAfter > 0 {
			pushback = shed.RetryAfter.Milliseconds()
			w.Header().Set("Retry-After", strconv.FormatInt(int64((shed.RetryAfter+time.Second-1)/time.Second), 10))
		}
		err.Meta().Set("Grpc-Retry-Pushback-Ms", strconv.FormatInt(pushback, 10))
		_ = errs.Write(w, r, err) // whoever is gone by now need not know
	}
}

const procedure = "/spillway.example.Echo/Say"

func run() error {
	ctrl, err := admission.New(admission.Config{})
	if err != nil {
		return err
	}
	defer ctrl.Close()
	mux := http.NewServeMux()
	mux.Handle(procedure, connect.NewUnaryHandler(procedure,
		func(_ context.Context, r *connect.Request[wrapperspb.StringValue]) (*connect.Response[wrapperspb.StringValue], error) {
			return connect.NewResponse(r.Msg), nil
		}))
	protocols := new(http.Protocols) // gRPC wants HTTP/2; here in the clear
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	srv := &http.Server{Handler: protected(ctrl, mux), Protocols: protocols, ReadHeaderTimeout: 5 * time.Second}
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
		client := connect.NewClient[wrapperspb.StringValue, wrapperspb.StringValue](
			&http.Client{Transport: transport}, "http://"+lis.Addr().String()+procedure, options...)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if reply, err := client.CallUnary(ctx, connect.NewRequest(wrapperspb.String("hello"))); err != nil {
			fmt.Printf("%s: %v\n", protocol, err)
		} else {
			fmt.Printf("%s: %s\n", protocol, reply.Msg.GetValue())
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
