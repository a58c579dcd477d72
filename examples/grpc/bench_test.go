package main

import (
	"context"
	"net"
	"testing"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/failsafe-go/failsafe-go/failsafegrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/grpcmw"
)

// arms are the bare call, Spillway, and failsafe-go with its adaptive limiter, the
// peer that comes nearest.
func arms(b *testing.B) []arm {
	ctrl, err := admission.New(admission.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = ctrl.Close() })
	return []arm{
		{"bare", func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			return handler(ctx, req)
		}},
		{"spillway", grpcmw.UnaryServerInterceptor(ctrl, grpcmw.Config{})},
		{"failsafe", failsafegrpc.NewUnaryServerInterceptor[any](adaptivelimiter.NewWithDefaults[any]())},
	}
}

type arm struct {
	name        string
	interceptor grpc.UnaryServerInterceptor
}

// BenchmarkInterceptor is what an interceptor itself adds. One caller at a time,
// nothing refused.
func BenchmarkInterceptor(b *testing.B) {
	var reply any = wrapperspb.String("hello")
	handler := func(context.Context, any) (any, error) { return reply, nil }
	info := &grpc.UnaryServerInfo{FullMethod: echoMethod}
	ctx := metadata.NewIncomingContext(b.Context(), metadata.Pairs("user-agent", "bench", ":authority", "echo"))
	for _, arm := range arms(b) {
		b.Run(arm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := arm.interceptor(ctx, reply, info, handler); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCall is a whole call in the process, transport included.
func BenchmarkCall(b *testing.B) {
	for _, arm := range arms(b) {
		b.Run(arm.name, func(b *testing.B) {
			lis := bufconn.Listen(64 << 10)
			srv := grpc.NewServer(grpc.UnaryInterceptor(arm.interceptor))
			registerEcho(srv, func() {})
			go func() { _ = srv.Serve(lis) }()
			defer srv.Stop()
			conn, err := grpc.NewClient("passthrough:bench", grpc.WithTransportCredentials(insecure.NewCredentials()),
				grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := echo(b.Context(), conn, "hello"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
