package main

import (
	"context"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/examples/shedcurve/orders"
	"github.com/spillway-go/spillway/grpcmw"
	"github.com/spillway-go/spillway/httpmw"
)

// server speaks HTTP or gRPC.
type server interface {
	Serve(net.Listener) error // until it is closed
	Close() error             // breaks off what is under way
}

// targetURL is where a server at addr is found.
func targetURL(addr string, grpc bool) string {
	if grpc {
		return "grpc://" + addr
	}
	return "http://" + addr
}

// httpServer is the order service over HTTP behind ctrl, if there is one.
func httpServer(store *orders.Store, ctrl *admission.Controller, m *serviceMeter) *http.Server {
	protected := httpmw.New(ctrl, httpmw.Config{Classify: classify})(orders.Handler(store))
	return &http.Server{Handler: m.count(orders.WithDeadline(protected)), ReadHeaderTimeout: 5 * time.Second}
}

// grpcServer is the order service over gRPC behind ctrl, if there is one.
func grpcServer(store *orders.Store, ctrl *admission.Controller, m *serviceMeter) closingServer {
	opts := []grpc.ServerOption{grpc.ChainUnaryInterceptor(m.countCalls)}
	srv := grpc.NewServer(append(opts, grpcmw.ServerOptions(ctrl, grpcmw.Config{Classify: classifyCall})...)...)
	orders.Register(srv, store)
	reflection.Register(srv)
	return closingServer{srv}
}

type closingServer struct{ *grpc.Server }

func (s closingServer) Close() error {
	s.Stop()
	return nil
}

// countCalls is an interceptor that counts the calls inside.
func (m *serviceMeter) countCalls(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	m.inflight.Add(1)
	defer m.inflight.Add(-1)
	return handler(ctx, req)
}
