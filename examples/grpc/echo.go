package main

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// capacity is how many calls a second the service does: four at a time, each
// for 10 ms.
const (
	workers  = 4
	takes    = 10 * time.Millisecond
	capacity = workers * int(time.Second/takes)
)

const echoMethod = "/spillway.example.Echo/Say"

// registerEcho adds a service that returns what it is sent. It is what protoc
// would generate of a service with one method. work is done for each call.
func registerEcho(srv *grpc.Server, work func()) {
	slots := make(chan struct{}, workers)
	say := func(ctx context.Context, req any) (any, error) {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		defer func() { <-slots }()
		work()
		return req, nil
	}
	srv.RegisterService(&grpc.ServiceDesc{
		ServiceName: "spillway.example.Echo",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{
			MethodName: "Say",
			Handler: func(_ any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
				in := new(wrapperspb.StringValue)
				if err := decode(in); err != nil {
					return nil, err
				}
				if interceptor == nil {
					return say(ctx, in)
				}
				return interceptor(ctx, in, &grpc.UnaryServerInfo{FullMethod: echoMethod}, say)
			},
		}},
	}, struct{}{})
}

func echo(ctx context.Context, conn *grpc.ClientConn, text string) (string, error) {
	out := new(wrapperspb.StringValue)
	err := conn.Invoke(ctx, echoMethod, wrapperspb.String(text), out)
	return out.GetValue(), err
}
