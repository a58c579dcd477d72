package orders

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The four endpoints as gRPC methods. Answers are JSON in a StringValue.
const (
	MethodOrder   = "/shedcurve.Orders/Order"   // Int64Value: the order's id
	MethodHistory = "/shedcurve.Orders/History" // Int64Value: the customer's id
	MethodPlace   = "/shedcurve.Orders/Place"   // Struct: a Draft as JSON
	MethodTop     = "/shedcurve.Orders/Top"     // Empty
)

// Register has a gRPC server serve the four methods from s. The service is written by hand, of well-known types,
// because four methods are not worth a code generator.
func Register(srv grpc.ServiceRegistrar, s *Store) {
	srv.RegisterService(&grpc.ServiceDesc{
		ServiceName: "shedcurve.Orders", Metadata: protoFile, HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{
			{MethodName: "Order", Handler: unary(MethodOrder, func(ctx context.Context, in *wrapperspb.Int64Value) (any, error) {
				return s.Order(ctx, int(in.GetValue()))
			})},
			{MethodName: "History", Handler: unary(MethodHistory, func(ctx context.Context, in *wrapperspb.Int64Value) (any, error) {
				return s.History(ctx, int(in.GetValue()))
			})},
			{MethodName: "Place", Handler: unary(MethodPlace, func(ctx context.Context, in *structpb.Struct) (any, error) {
				d, err := draftOf(in)
				if err != nil {
					return nil, err
				}
				id, total, err := s.Place(ctx, d)
				return map[string]int64{"id": id, "total": int64(total)}, err
			})},
			{MethodName: "Top", Handler: unary(MethodTop, func(ctx context.Context, _ *emptypb.Empty) (any, error) {
				return s.Top(ctx, s.sizes.latest())
			})},
		},
	}, nil)
}

// unary makes a method's handler, as a code generator would.
func unary[In any, P interface {
	*In
	proto.Message
}](method string, serve func(context.Context, P) (any, error)) grpc.MethodHandler {
	handle := func(ctx context.Context, in any) (any, error) {
		v, err := serve(ctx, in.(P))
		if err != nil {
			return nil, statusOf(ctx, err)
		}
		text, err := json.Marshal(v)
		return wrapperspb.String(string(text)), err
	}
	return func(srv any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		in := P(new(In))
		if err := decode(in); err != nil {
			return nil, err
		}
		if interceptor == nil {
			return handle(ctx, in)
		}
		return interceptor(ctx, in, &grpc.UnaryServerInfo{Server: srv, FullMethod: method}, handle)
	}
}

func draftOf(in *structpb.Struct) (d Draft, err error) {
	text, err := in.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err == nil {
		err = d.check()
	}
	if err != nil {
		return d, status.Error(codes.InvalidArgument, err.Error())
	}
	return d, nil
}

// statusOf is what err stands for, as in reply.
func statusOf(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return status.FromContextError(ctx.Err()).Err()
	case errors.Is(err, context.DeadlineExceeded):
		return status.FromContextError(err).Err()
	case errors.Is(err, sql.ErrNoRows):
		return status.Error(codes.NotFound, "not found")
	case errors.Is(err, ErrStock):
		return status.Error(codes.FailedPrecondition, err.Error())
	case status.Code(err) != codes.Unknown:
		return err
	}
	return status.Error(codes.Internal, err.Error())
}

const protoFile = "shedcurve/orders.proto"

// Server reflection knows the service by its file.
func init() {
	int64Value, stringValue := ".google.protobuf.Int64Value", ".google.protobuf.StringValue"
	method := func(name, in string) *descriptorpb.MethodDescriptorProto {
		return &descriptorpb.MethodDescriptorProto{Name: &name, InputType: &in, OutputType: &stringValue}
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String(protoFile), Package: proto.String("shedcurve"), Syntax: proto.String("proto3"),
		Dependency: []string{"google/protobuf/empty.proto", "google/protobuf/struct.proto", "google/protobuf/wrappers.proto"},
		Service: []*descriptorpb.ServiceDescriptorProto{{Name: proto.String("Orders"), Method: []*descriptorpb.MethodDescriptorProto{
			method("Order", int64Value), method("History", int64Value),
			method("Place", ".google.protobuf.Struct"), method("Top", ".google.protobuf.Empty"),
		}}},
	}, protoregistry.GlobalFiles)
	if err == nil {
		err = protoregistry.GlobalFiles.RegisterFile(file)
	}
	if err != nil {
		panic(err) // of constants alone: cannot be
	}
}
