package service

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"

	"github.com/spillway-go/spillway/examples/shedcurve/orders"
	"github.com/spillway-go/spillway/examples/shedcurve/speed"
)

// Service is the order service on one store, as a process has it, and what watches it. Make it with New.
type Service struct {
	store *orders.Store
	meter *serviceMeter
	gauge *speed.Gauge
}

// New starts to watch the process. The store stays the caller's.
func New(ctx context.Context, store *orders.Store) (*Service, error) {
	s := &Service{store: store, meter: newMeter()}
	var err error
	if s.gauge, err = speed.New(ctx, store); err != nil {
		s.meter.Stop()
		return nil, err
	}
	return s, nil
}

// Close ends what New started.
func (s *Service) Close() {
	s.gauge.Stop()
	s.meter.Stop()
}

// Server speaks HTTP or gRPC.
type Server interface {
	Serve(net.Listener) error // until it is closed
	Close() error             // breaks off what is under way
}

// HTTP is the service over HTTP, behind protect. The deadline of a request is known before that.
func (s *Service) HTTP(protect func(http.Handler) http.Handler) *http.Server {
	return &http.Server{
		Handler:           s.meter.count(orders.WithDeadline(protect(orders.Handler(s.store)))),
		ReadHeaderTimeout: 5 * time.Second,
	}
}

// GRPC is the service over gRPC, behind what the options have.
func (s *Service) GRPC(protect ...grpc.ServerOption) Server {
	srv := grpc.NewServer(append([]grpc.ServerOption{grpc.ChainUnaryInterceptor(s.meter.countCalls)}, protect...)...)
	orders.Register(srv, s.store)
	reflection.Register(srv)
	return closingServer{srv}
}

type closingServer struct{ *grpc.Server }

func (s closingServer) Close() error {
	s.Stop()
	return nil
}

// Admin is for the parent and for the curious: what the service uses, how fast the machine is, a reset of its data, and
// Go's profiles.
func (s *Service) Admin() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /usage", func(w http.ResponseWriter, _ *http.Request) { WriteJSON(w, s.meter.usage()) })
	mux.HandleFunc("GET /speed", func(w http.ResponseWriter, _ *http.Request) { WriteJSON(w, s.gauge.All()) })
	mux.HandleFunc("POST /reset", func(w http.ResponseWriter, r *http.Request) {
		err := s.meter.idle(r.Context())
		if err == nil {
			err = s.store.Reset(r.Context())
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		s.meter.Reset()
		s.gauge.Reset()
		WriteJSON(w, s.meter.usage())
	})
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

// WriteJSON answers with a value, as all of the admin address do.
func WriteJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// Addresses are where a service is. As a child it tells them its parent.
type Addresses struct {
	Addr  string `json:"addr"`
	Admin string `json:"admin"`
}

// Listen serves both at these addresses until ctx ends. Before, it calls hello with what they have become.
func Listen(ctx context.Context, at Addresses, public Server, admin http.Handler, hello func(Addresses) error) error {
	publicListener, err := net.Listen("tcp", at.Addr)
	if err != nil {
		return err
	}
	adminListener, err := net.Listen("tcp", at.Admin)
	if err != nil {
		return errors.Join(err, publicListener.Close())
	}
	if err := hello(Addresses{publicListener.Addr().String(), adminListener.Addr().String()}); err != nil {
		return errors.Join(err, publicListener.Close(), adminListener.Close())
	}
	adminServer := &http.Server{Handler: admin, ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan error, 2)
	go func() { ended <- public.Serve(publicListener) }()
	go func() { ended <- adminServer.Serve(adminListener) }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = nil
	}
	return errors.Join(err, public.Close(), adminServer.Close())
}

// Hello tells the addresses to the parent of this process, whose standard output is w.
func Hello(w io.Writer) func(Addresses) error {
	return func(at Addresses) error { return json.NewEncoder(w).Encode(at) }
}
