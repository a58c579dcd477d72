package grpcmw_test

import (
	"context"
	"fmt"
	"log"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthgrpc "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/grpcmw"
)

// Both interceptors as options of a server. Health checks, which stand for a service
// here, are exempt unless Exempt says otherwise.
func ExampleServerOptions() {
	ctrl, err := admission.New(admission.Config{})
	if err != nil {
		log.Fatal(err)
	}
	none := func(string) bool { return false }
	srv := grpc.NewServer(grpcmw.ServerOptions(ctrl, grpcmw.Config{Exempt: none})...)
	defer srv.Stop()
	healthgrpc.RegisterHealthServer(srv, health.NewServer())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go srv.Serve(listener)
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	check := func() codes.Code {
		_, err := healthgrpc.NewHealthClient(conn).Check(context.Background(), &healthgrpc.HealthCheckRequest{})
		return status.Code(err)
	}
	fmt.Println(check())
	_ = ctrl.Close() // sheds all from now on
	fmt.Println(check())
	// Output:
	// OK
	// Unavailable
}

// A service that knows its calls: exports go to a lane of their own and are shed first.
func ExampleUnaryServerInterceptor() {
	ctrl, err := admission.New(admission.Config{Lanes: map[string]admission.LaneConfig{"default": {}, "export": {}}})
	if err != nil {
		log.Fatal(err)
	}
	intercept := grpcmw.UnaryServerInterceptor(ctrl, grpcmw.Config{
		Classify: func(_ context.Context, fullMethod string, _ any) admission.Request {
			if fullMethod == "/shop.Orders/Export" {
				return admission.Request{Lane: "export", Priority: admission.T5.Priority()}
			}
			return admission.Request{Priority: admission.T1.Priority()}
		},
	})
	call := func(method string) {
		answer, err := intercept(context.Background(), nil, &grpc.UnaryServerInfo{FullMethod: method},
			func(context.Context, any) (any, error) { return "done", nil })
		fmt.Println(method, answer, status.Code(err))
	}
	call("/shop.Orders/Get")
	call("/shop.Orders/Export")
	export, _ := ctrl.Stats().Lane("export")
	fmt.Println("exports:", export.Tiers[admission.T5].Admitted)

	_ = ctrl.Close() // sheds all from now on
	call("/shop.Orders/Get")
	// Output:
	// /shop.Orders/Get done OK
	// /shop.Orders/Export done OK
	// exports: 1
	// /shop.Orders/Get <nil> Unavailable
}
