package orders

import (
	"context"
	"encoding/json"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func connect(t *testing.T) *grpc.ClientConn {
	t.Helper()
	l := bufconn.Listen(1 << 16)
	srv := grpc.NewServer()
	Register(srv, store)
	go srv.Serve(l)
	t.Cleanup(srv.Stop)
	conn, err := grpc.NewClient("passthrough:///orders", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func draftMessage(t *testing.T, text string) *structpb.Struct {
	t.Helper()
	s := &structpb.Struct{}
	if err := s.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return s
}

// Over gRPC the service says what it says over HTTP.
func TestGRPCAgreesWithHTTP(t *testing.T) {
	conn := connect(t)
	for _, tt := range []struct {
		method string
		in     proto.Message
		path   string
	}{
		{MethodOrder, wrapperspb.Int64(5), "/orders/5"},
		{MethodHistory, wrapperspb.Int64(7), "/customers/7/orders"},
		{MethodTop, &emptypb.Empty{}, "/reports/top"},
	} {
		out := &wrapperspb.StringValue{}
		if err := conn.Invoke(t.Context(), tt.method, tt.in, out); err != nil {
			t.Errorf("%s: %v", tt.method, err)
		}
		if want := call(t, "GET", tt.path, "").Body.String(); out.GetValue()+"\n" != want {
			t.Errorf("%s: %s\nwant %s", tt.method, out.GetValue(), want)
		}
	}
}

func TestGRPCPlace(t *testing.T) {
	conn := connect(t)
	defer func() {
		if err := store.Reset(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	out := &wrapperspb.StringValue{}
	if err := conn.Invoke(t.Context(), MethodPlace, draftMessage(t, `{"customer":7,"lines":[{"product":3,"quantity":2}]}`), out); err != nil {
		t.Fatal(err)
	}
	var placed struct{ ID, Total int }
	if err := json.Unmarshal([]byte(out.GetValue()), &placed); err != nil || placed.ID != testOrders+1 || placed.Total <= 0 {
		t.Errorf("%s: %+v, %v", out.GetValue(), placed, err)
	}
}

func TestGRPCStatus(t *testing.T) {
	conn := connect(t)
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		ctx    context.Context
		method string
		in     proto.Message
		want   codes.Code
	}{
		{t.Context(), MethodOrder, wrapperspb.Int64(99_999_999), codes.NotFound},
		{t.Context(), MethodOrder, wrapperspb.Int64(-1), codes.NotFound},
		{t.Context(), MethodHistory, wrapperspb.Int64(0), codes.NotFound},
		{t.Context(), MethodPlace, draftMessage(t, `{"customer":7}`), codes.InvalidArgument},
		{t.Context(), MethodPlace, draftMessage(t, `{"customer":7,"lines":[{"product":3,"quantity":0}]}`), codes.InvalidArgument},
		{t.Context(), MethodPlace, draftMessage(t, `{"customer":"x"}`), codes.InvalidArgument},
		{t.Context(), MethodPlace, draftMessage(t, `{"customer":7,"lines":[{"product":99999999,"quantity":1}]}`), codes.FailedPrecondition},
		{done, MethodTop, &emptypb.Empty{}, codes.Canceled},
	} {
		if got := status.Code(conn.Invoke(tt.ctx, tt.method, tt.in, &wrapperspb.StringValue{})); got != tt.want {
			t.Errorf("%s %v: %v, want %v", tt.method, tt.in, got, tt.want)
		}
	}
	// The statements take the context, and its end is what the client hears of.
	for ctx, want := range map[context.Context]codes.Code{done: codes.Canceled} {
		_, err := store.Top(ctx, 1)
		if got := status.Code(statusOf(ctx, err)); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}
