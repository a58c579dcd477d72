package load

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// method is a unary method of a gRPC service.
type method struct {
	in protoreflect.MessageDescriptor
}

// encode makes a message of JSON; an empty text is an empty message.
func (m *method) encode(text string) ([]byte, error) {
	if text == "" {
		return nil, nil
	}
	msg := dynamicpb.NewMessage(m.in)
	if err := protojson.Unmarshal([]byte(text), msg); err != nil {
		return nil, fmt.Errorf("load: %.80q is no %s: %w", text, m.in.FullName(), err)
	}
	return proto.Marshal(msg)
}

// raw sends the bytes that a message was encoded to, and throws away those of the answer, which nobody reads.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (raw) Unmarshal(mem.BufferSlice, any) error { return nil }

// Server reflection has two versions that differ by name alone; older servers know the second.
var reflectionMethods = []string{
	reflection.ServerReflection_ServerReflectionInfo_FullMethodName,
	"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
}

// reflectMethod asks a server to describe a method, "/package.Service/Method".
func reflectMethod(ctx context.Context, conn *grpc.ClientConn, full string) (m *method, err error) {
	for _, version := range reflectionMethods {
		if m, err = reflectBy(ctx, conn, version, full); status.Code(err) != codes.Unimplemented {
			break
		}
	}
	return m, err
}

func reflectBy(ctx context.Context, conn *grpc.ClientConn, version, full string) (*method, error) {
	ctx, cancel := context.WithCancel(ctx) // ends the stream
	defer cancel()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, version)
	if err != nil {
		return nil, err
	}
	service, name, _ := strings.Cut(strings.TrimPrefix(full, "/"), "/")
	files := map[string]*descriptorpb.FileDescriptorProto{}
	if err := fetch(stream, files, &reflection.ServerReflectionRequest{
		MessageRequest: &reflection.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: service},
	}); err != nil {
		return nil, err
	}
	for missing := dependency(files); missing != ""; missing = dependency(files) {
		if err := fetch(stream, files, &reflection.ServerReflectionRequest{
			MessageRequest: &reflection.ServerReflectionRequest_FileByFilename{FileByFilename: missing},
		}); err != nil {
			return nil, err
		}
		if files[missing] == nil {
			return nil, fmt.Errorf("the server does not send %s", missing)
		}
	}
	set := &descriptorpb.FileDescriptorSet{}
	for _, f := range files {
		set.File = append(set.File, f)
	}
	known, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, err
	}
	found, _ := known.FindDescriptorByName(protoreflect.FullName(service + "." + name))
	d, ok := found.(protoreflect.MethodDescriptor)
	if !ok {
		return nil, fmt.Errorf("service %s has no method %s", service, name)
	}
	if d.IsStreamingClient() || d.IsStreamingServer() {
		return nil, errors.New("must be a unary method")
	}
	return &method{d.Input()}, nil
}

// fetch asks for files and adds them to those there are.
func fetch(stream grpc.ClientStream, files map[string]*descriptorpb.FileDescriptorProto, req *reflection.ServerReflectionRequest) error {
	_ = stream.SendMsg(req) // what went wrong is what RecvMsg says
	var res reflection.ServerReflectionResponse
	if err := stream.RecvMsg(&res); err != nil {
		return err
	}
	if e := res.GetErrorResponse(); e != nil {
		return errors.New(e.GetErrorMessage())
	}
	for _, b := range res.GetFileDescriptorResponse().GetFileDescriptorProto() {
		f := &descriptorpb.FileDescriptorProto{}
		if err := proto.Unmarshal(b, f); err != nil {
			return err
		}
		files[f.GetName()] = f
	}
	return nil
}

// dependency is one that is missing, "" for none.
func dependency(files map[string]*descriptorpb.FileDescriptorProto) string {
	for _, f := range files {
		for _, d := range f.GetDependency() {
			if files[d] == nil {
				return d
			}
		}
	}
	return ""
}
