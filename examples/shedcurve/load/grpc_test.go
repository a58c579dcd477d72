package load

import (
	"context"
	"maps"
	"net"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	_ "google.golang.org/protobuf/types/known/emptypb" // files that importing names
	_ "google.golang.org/protobuf/types/known/structpb"
)

const check = "/grpc.health.v1.Health/Check"

// serveGRPC starts a health service whose answers are those of answer, and returns a client of it.
func serveGRPC(t *testing.T, describe func(*grpc.Server), answer func(context.Context, string) error) *Client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
		return &healthpb.HealthCheckResponse{}, answer(ctx, req.(*healthpb.HealthCheckRequest).GetService())
	}))
	healthpb.RegisterHealthServer(srv, health.NewServer())
	describe(srv)
	go srv.Serve(l)
	t.Cleanup(srv.Stop)
	return clientOf(t, "grpc://"+l.Addr().String())
}

func clientOf(t *testing.T, at string) *Client {
	t.Helper()
	c, err := NewClient(at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func withReflection(s *grpc.Server) { reflection.Register(s) }

// refusal is a status with its details.
func refusal(code codes.Code, details ...protoadapt.MessageV1) error {
	s, err := status.New(code, "no").WithDetails(details...)
	if err != nil {
		panic(err)
	}
	return s.Err()
}

func TestGRPCAnswers(t *testing.T) {
	why := func(reason string) *errdetails.ErrorInfo { return &errdetails.ErrorInfo{Reason: reason, Domain: "d"} }
	for _, tt := range []struct {
		name     string
		err      error
		pushback []string
		want     answer
	}{
		{"good", nil, nil, answer{status: 200, retryAfter: -1}},
		{"shed, with all that can be said", refusal(codes.Unavailable, why("QUEUE_FULL")), []string{"1001"}, answer{status: 503, reason: "queue-full", retryAfter: 2}},
		{"shed, do not retry", refusal(codes.Unavailable, why("PRIORITY")), []string{"-1"}, answer{status: 503, reason: "priority", retryAfter: -1}},
		{"two hints are none", refusal(codes.Unavailable, why("LIMIT")), []string{"1", "2"}, answer{status: 503, reason: "limit", retryAfter: -1}},
		{"over its cap", refusal(codes.ResourceExhausted, why("TENANT_CAP")), nil, answer{status: 429, reason: "tenant-cap", retryAfter: -1}},
		{"shed without a word", refusal(codes.Unavailable), nil, answer{status: 503, reason: "Unavailable", retryAfter: -1}},
		{"dead on arrival", refusal(codes.DeadlineExceeded, why("DEADLINE")), nil, answer{status: 503, reason: "deadline", retryAfter: -1}},
		{"took too long", refusal(codes.DeadlineExceeded), []string{"5"}, answer{status: 504, retryAfter: -1}},
		{"not found", refusal(codes.NotFound, why("NO_SUCH_THING")), nil, answer{status: 404, retryAfter: -1}},
		{"broken", refusal(codes.Internal), nil, answer{status: 500, retryAfter: -1}},
	} {
		c := serveGRPC(t, withReflection, func(ctx context.Context, _ string) error {
			for _, v := range tt.pushback {
				_ = grpc.SetTrailer(ctx, metadata.Pairs("grpc-retry-pushback-ms", v))
			}
			return tt.err
		})
		got := c.send(t.Context(), Request{Method: check})
		if got.says = ""; got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestGRPCRequest(t *testing.T) {
	type seen struct {
		service, tenant, color string
		left                   time.Duration
	}
	var got seen
	c := serveGRPC(t, withReflection, func(ctx context.Context, service string) error {
		md, _ := metadata.FromIncomingContext(ctx)
		d, _ := ctx.Deadline()
		got = seen{service, md["x-tenant"][0], md["color"][0], time.Until(d)}
		return nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	r := Request{Method: check, Body: `{"service": "shop"}`, Tenant: "acme", Header: map[string]string{"Color": "red"}}
	for range 2 { // what reflection said is known the second time, and a closed client connects again
		if a := c.send(ctx, r); a.status != 200 {
			t.Fatalf("%+v", a)
		}
		if got.service != "shop" || got.tenant != "acme" || got.color != "red" || got.left < time.Minute || got.left > time.Hour {
			t.Errorf("the service saw %+v", got)
		}
		c.Close()
	}
}

func TestGRPCRequestErrors(t *testing.T) {
	c := serveGRPC(t, withReflection, func(context.Context, string) error { return nil })
	for want, r := range map[string]Request{
		"is an HTTP request, the target speaks gRPC": {Method: "GET", Path: "/"},
		"no grpc.health.v1.HealthCheckRequest":       {Method: check, Body: `{"servant": 1}`},
		"must be a unary method":                     {Method: "/grpc.health.v1.Health/Watch"},
		"grpc.health.v1.Health has no method Czech":  {Method: "/grpc.health.v1.Health/Czech"},
		"shop.Orders": {Method: "/shop.Orders/Get"},
	} {
		wantErrors(t, c.send(t.Context(), r).err, want)
	}
	plain := serveGRPC(t, func(*grpc.Server) {}, nil)
	wantErrors(t, plain.send(t.Context(), Request{Method: check}).err, "by server reflection", "unknown service")
	wantErrors(t, clientOf(t, "http://service.test").send(t.Context(), Request{Method: check}).err, "the target speaks HTTP")
}

// A client that gives up, and one that nobody answers, have no answer, whatever status gRPC makes up for it.
func TestGRPCWithoutAnAnswer(t *testing.T) {
	c := serveGRPC(t, withReflection, func(ctx context.Context, service string) error {
		if service == "wait" {
			<-ctx.Done()
			return status.FromContextError(ctx.Err()).Err()
		}
		return nil
	})
	if a := c.send(t.Context(), Request{Method: check}); a.status != 200 {
		t.Fatalf("%+v", a)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(10*time.Millisecond, func() { cancel(context.DeadlineExceeded) })
	a := c.send(ctx, Request{Method: check, Body: `{"service": "wait"}`})
	if a.failure(0, time.Second) != "given up" {
		t.Errorf("given up: %+v", a)
	}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if a := clientOf(t, "grpc://"+l.Addr().String()).send(t.Context(), Request{Method: check}); !a.dead() || a.status != 0 {
		t.Errorf("nobody listens: %+v", a)
	}
}

// A target that dies in the middle is found dead by calls too, which know their method by then.
func TestGRPCTargetThatDies(t *testing.T) {
	c := serveGRPC(t, withReflection, func(context.Context, string) error { return nil })
	if a := c.send(t.Context(), Request{Method: check}); a.status != 200 {
		t.Fatalf("%+v", a)
	}
	g := c.target.(*grpcTarget)
	g.close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	g.addr = l.Addr().String()
	if a := c.send(t.Context(), Request{Method: check}); !a.dead() {
		t.Errorf("%+v, want a connection refused", a)
	}
}

// Connections are as many as the calls under way need, since servers bound the calls on each.
func TestGRPCConnections(t *testing.T) {
	g := newGRPCTarget("127.0.0.1:1")
	defer g.close()
	used := map[*grpc.ClientConn]int{}
	for range 3*callsPerConn - 1 {
		c, err := g.conn()
		if err != nil {
			t.Fatal(err)
		}
		used[c]++
	}
	if len(used) != 3 {
		t.Errorf("%d connections for %d calls, want 3", len(used), 3*callsPerConn-1)
	}
	for range 3*callsPerConn - 1 {
		g.giveBack()
	}
	clear(used)
	for range 10 {
		c, _ := g.conn()
		used[c]++
		g.giveBack()
	}
	if len(used) != 1 {
		t.Errorf("%d connections for one call at a time", len(used))
	}
}

// Old servers know only the first version of reflection.
func TestReflectionOfOldServers(t *testing.T) {
	c := serveGRPC(t, func(s *grpc.Server) {
		reflectionv1alpha.RegisterServerReflectionServer(s, reflection.NewServer(reflection.ServerOptions{Services: s}))
	}, func(context.Context, string) error { return nil })
	if a := c.send(t.Context(), Request{Method: check}); a.status != 200 {
		t.Errorf("%+v", a)
	}
}

// sparse answers reflection with the one file that was asked for, and leaves it to its client to ask for what that imports.
type sparse struct {
	reflectionv1.UnimplementedServerReflectionServer
	lacks string // a file that it does not have
	asked map[string]int
}

func (s sparse) ServerReflectionInfo(stream reflectionv1.ServerReflection_ServerReflectionInfoServer) error {
	for {
		req, err := stream.Recv()
		if err != nil {
			return nil
		}
		var file protoreflect.FileDescriptor
		if symbol := req.GetFileContainingSymbol(); symbol != "" {
			d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(symbol))
			if err != nil {
				return err
			}
			file = d.ParentFile()
		} else if file, err = protoregistry.GlobalFiles.FindFileByPath(req.GetFileByFilename()); err != nil {
			return err
		}
		s.asked[file.Path()]++
		var files [][]byte
		if file.Path() != s.lacks {
			b, err := proto.Marshal(protodesc.ToFileDescriptorProto(file))
			if err != nil {
				return err
			}
			files = append(files, b)
		}
		if err := stream.Send(&reflectionv1.ServerReflectionResponse{MessageResponse: &reflectionv1.ServerReflectionResponse_FileDescriptorResponse{
			FileDescriptorResponse: &reflectionv1.FileDescriptorResponse{FileDescriptorProto: files},
		}}); err != nil {
			return err
		}
	}
}

func TestReflectionFileByFile(t *testing.T) {
	// The symbol is described, whoever serves it.
	const method = "/load.test.Service/Method"
	file, err := protodesc.NewFile(importing("google/protobuf/struct.proto", "google/protobuf/empty.proto"), protoregistry.GlobalFiles)
	if err == nil {
		err = protoregistry.GlobalFiles.RegisterFile(file)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, lacks := range []string{"", "google/protobuf/struct.proto"} {
		s := sparse{lacks: lacks, asked: map[string]int{}}
		c := serveGRPC(t, func(srv *grpc.Server) { reflectionv1.RegisterServerReflectionServer(srv, s) }, nil)
		a := c.send(t.Context(), Request{Method: method})
		if lacks != "" {
			wantErrors(t, a.err, "the server does not send "+lacks)
			continue
		}
		if a.status != 501 { // it is described, but not served
			t.Errorf("%+v", a)
		}
		if want := map[string]int{"load/test.proto": 1, "google/protobuf/struct.proto": 1, "google/protobuf/empty.proto": 1}; !maps.Equal(s.asked, want) {
			t.Errorf("asked for %v, want %v", s.asked, want)
		}
	}
}
