package grpcmw_test

import (
	"context"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/grpcmw"
)

// What a call came with goes on, as it was understood here, to whom its handler
// calls.
func TestPriorityAndTenantTravelOn(t *testing.T) {
	keys := grpcmw.Metadata{Priority: "x-priority", Tenant: "x-tenant", Baggage: true, Trusted: func(context.Context) bool { return true }}
	far := &spy{}
	farther := pair(t, control(t, admission.Config{}, watched(far)), grpcmw.Config{Metadata: keys}, &service{})
	near := pair(t, control(t, admission.Config{}), grpcmw.Config{
		Forward: true, Metadata: keys,
		Classify: func(context.Context, string, any) admission.Request {
			return admission.Request{Priority: admission.NewPriority(admission.T1, 37), Tenant: "acme"}
		},
	}, &service{
		unary: func(ctx context.Context, r *testgrpc.SimpleRequest) (*testgrpc.SimpleResponse, error) {
			return farther.UnaryCall(ctx, r)
		},
		bidi: func(ss testgrpc.TestService_FullDuplexCallServer) error {
			_, err := farther.UnaryCall(ss.Context(), &testgrpc.SimpleRequest{})
			return err
		},
	})
	for kind, r := range map[string]refusal{"call": ask(t.Context(), near), "stream": open(t.Context(), near)} {
		got := far.Last()
		if r.code != codes.OK && r.text != "EOF" || got.Priority.String() != "t1/37" || got.Tenant != "acme" {
			t.Errorf("%s: %+v, request %+v", kind, r, got)
		}
	}
}

func TestOutgoing(t *testing.T) {
	keys := grpcmw.Metadata{Priority: "x-priority", Tenant: "x-tenant", Baggage: true}
	t1 := admission.NewPriority(admission.T1, 37)
	for name, c := range map[string]struct {
		keys   grpcmw.Metadata
		p      admission.Priority
		tenant string
		before []string
		want   metadata.MD
	}{
		"nothing to say":  {keys, 0, "", nil, nil},
		"nowhere to say":  {grpcmw.Metadata{}, t1, "acme", nil, metadata.MD{}},
		"never exempt":    {keys, admission.Exempt, "", nil, nil},
		"keys alone":      {grpcmw.Metadata{Priority: "p", Tenant: "t"}, t1, "acme", nil, metadata.Pairs("p", "t1/37", "t", "acme")},
		"in place of":     {grpcmw.Metadata{Priority: "p"}, t1, "", []string{"p", "t0", "q", "1"}, metadata.Pairs("p", "t1/37", "q", "1")},
		"baggage is kept": {grpcmw.Metadata{Baggage: true}, t1, "ä,;=", []string{"baggage", "a=b;c=d, ,admission.tenant=x"}, metadata.Pairs("baggage", "admission.tenant=%C3%A4%2C%3B=,admission.priority=t1%2F37,a=b;c=d")},
		"too long to say": {grpcmw.Metadata{Baggage: true}, 0, strings.Repeat("a", 9000), []string{"baggage", "a=b,admission.tenant=x"}, metadata.Pairs("baggage", "a=b")},
		"no ASCII":        {grpcmw.Metadata{Tenant: "t"}, 0, "ä", nil, metadata.MD{}},
	} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), c.before...)
		if len(c.before) == 0 {
			ctx = t.Context()
		}
		got, _ := metadata.FromOutgoingContext(c.keys.Outgoing(ctx, c.p, c.tenant))
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func FuzzBaggage(f *testing.F) {
	f.Add("a=b;c=d,admission.tenant=x", "acme")
	f.Add(",=;,%", "ä,;= \"\\")
	f.Fuzz(func(t *testing.T, bag, tenant string) {
		keys := grpcmw.Metadata{Baggage: true, Trusted: func(context.Context) bool { return true }}
		ctx := metadata.NewOutgoingContext(t.Context(), metadata.MD{"baggage": {bag}})
		md, _ := metadata.FromOutgoingContext(keys.Outgoing(ctx, admission.T2.Priority(), tenant))
		s := &spy{}
		ctrl := control(t, admission.Config{}, watched(s))
		unary := grpcmw.UnaryServerInterceptor(ctrl, grpcmw.Config{Metadata: keys})
		_, _ = unary(metadata.NewIncomingContext(t.Context(), md), nil, &grpc.UnaryServerInfo{FullMethod: unaryMethod},
			func(context.Context, any) (any, error) { return nil, nil })
		got := s.Last()
		if total := len(bag) + len(url.PathEscape(tenant)); total < 8000 && (tenant != "" && got.Tenant != tenant || got.Priority != admission.T2.Priority()) {
			t.Errorf("%q becomes %q, of which %+v is read", bag, md["baggage"], got)
		}
	})
}
