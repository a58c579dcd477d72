package main

import (
	"context"
	"testing"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/failsafe-go/failsafe-go/failsafegrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/grpcmw"
)

// BenchmarkInterceptor is what an interceptor adds to a call, beside the bare
// handler and beside the interceptor of failsafe-go with its adaptive limiter, the
// peer that comes nearest. One caller at a time, nothing refused.
func BenchmarkInterceptor(b *testing.B) {
	ctrl, err := admission.New(admission.Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer ctrl.Close()
	var reply any = wrapperspb.String("hello")
	handler := func(context.Context, any) (any, error) { return reply, nil }
	info := &grpc.UnaryServerInfo{FullMethod: echoMethod}
	ctx := metadata.NewIncomingContext(b.Context(), metadata.Pairs("user-agent", "bench", ":authority", "echo"))
	for _, arm := range []struct {
		name        string
		interceptor grpc.UnaryServerInterceptor
	}{
		{"bare", func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			return handler(ctx, req)
		}},
		{"spillway", grpcmw.UnaryServerInterceptor(ctrl, grpcmw.Config{})},
		{"failsafe", failsafegrpc.NewUnaryServerInterceptor[any](adaptivelimiter.NewWithDefaults[any]())},
	} {
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
