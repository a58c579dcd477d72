package grpcmw_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/grpcmw"
)

func TestInfrastructureIsRecognisedExactly(t *testing.T) {
	for method, want := range map[string]bool{
		"/grpc.health.v1.Health/Check":                                   true,
		"/grpc.health.v1.Health/Watch":                                   true,
		"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo":      true,
		"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": true,
		"/grpc.channelz.v1.Channelz/GetServers":                          true,
		"/xds.service.orca.v3.OpenRcaService/StreamCoreMetrics":          true,
		"/grpc.health.v1.HealthX/Check":                                  false,
		"/grpc.health.v1.Health":                                         false,
		"grpc.health.v1.Health/Check":                                    false,
		"//grpc.health.v1.Health/Check":                                  false,
		"/x/grpc.health.v1.Health/Check":                                 false,
		"/grpc.health.v1.health/Check":                                   false,
		"/orders.v1.Orders/Check?service=/grpc.health.v1.Health/Check":   false,
		"/":  false,
		"":   false,
		"//": false,
	} {
		if got := grpcmw.IsInfrastructure(method); got != want {
			t.Errorf("%s: %v, want %v", method, got, want)
		}
	}
}

func TestPeerIdentity(t *testing.T) {
	id := &url.URL{Scheme: "spiffe", Host: "example.org", Path: "/ns/prod/sa/checkout"}
	spiffe := &x509.Certificate{URIs: []*url.URL{id}, DNSNames: []string{"checkout.prod"}}
	dns := &x509.Certificate{DNSNames: []string{"checkout.prod", "other"}, Subject: pkix.Name{CommonName: "cn"}}
	common := &x509.Certificate{Subject: pkix.Name{CommonName: "cn"}}
	verified := func(cert *x509.Certificate, id *url.URL) credentials.AuthInfo {
		return credentials.TLSInfo{SPIFFEID: id, State: tls.ConnectionState{
			PeerCertificates: []*x509.Certificate{cert}, VerifiedChains: [][]*x509.Certificate{{cert}},
		}}
	}
	for name, c := range map[string]struct {
		auth credentials.AuthInfo
		want string
	}{
		"SPIFFE":         {verified(spiffe, id), "spiffe://example.org/ns/prod/sa/checkout"},
		"DNS":            {verified(dns, nil), "checkout.prod"},
		"common name":    {verified(common, nil), "cn"},
		"none":           {nil, ""},
		"no certificate": {credentials.TLSInfo{}, ""},
		"not verified": {credentials.TLSInfo{SPIFFEID: id, State: tls.ConnectionState{
			PeerCertificates: []*x509.Certificate{spiffe},
		}}, ""},
	} {
		if got := grpcmw.PeerIdentity(&peer.Peer{AuthInfo: c.auth}); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestClassifyWinsAndTheRestIsFilledIn(t *testing.T) {
	s := &spy{}
	t2 := admission.NewPriority(admission.T2, 5)
	unary := grpcmw.UnaryServerInterceptor(control(t, admission.Config{}, watched(s)), grpcmw.Config{
		Classify: func(_ context.Context, method string, req any) admission.Request {
			if method != unaryMethod || req != "request" {
				t.Errorf("%s, %v", method, req)
			}
			return admission.Request{Priority: t2, Tenant: "acme", Cost: 2}
		},
		Metadata: grpcmw.Metadata{
			Trusted:  func(context.Context) bool { return true },
			Priority: "x-priority", Tenant: "x-tenant", Caller: "x-caller",
		},
	})
	for want, ctx := range map[string]context.Context{
		"checkout": incoming(t.Context()), // the certificate's, whatever the metadata says
		"billing":  t.Context(),
	} {
		md, _ := metadata.FromIncomingContext(ctx)
		ctx = metadata.NewIncomingContext(ctx, metadata.Join(md, metadata.Pairs("x-priority", "t0", "x-tenant", "evil", "x-caller", "billing")))
		if _, err := unary(ctx, "request", &grpc.UnaryServerInfo{FullMethod: unaryMethod}, func(context.Context, any) (any, error) { return nil, nil }); err != nil {
			t.Fatal(err)
		}
		request := admission.Request{Priority: t2, Tenant: "acme", Cost: 2, Caller: want, Op: unaryMethod}
		got := s.Last()
		got.Lane = ""
		if !reflect.DeepEqual(got, request) {
			t.Errorf("request is %+v\nwant       %+v", got, request)
		}
	}
}

// What a stranger says of himself counts only where it makes him less important.
func TestMetadataIsBelievedOfTheTrustedOnly(t *testing.T) {
	trust, nobody := func(context.Context) bool { return true }, func(context.Context) bool { return false }
	all := grpcmw.Metadata{
		Priority: "X-Priority", Tenant: "x-tenant", Caller: "x-caller", Attempt: "x-envoy-attempt-count", Baggage: true,
	}
	sent := []string{"x-priority", "t1/7", "x-tenant", "acme", "x-caller", "checkout", "x-envoy-attempt-count", "3"}
	full := admission.Request{Priority: admission.NewPriority(admission.T1, 7), Tenant: "acme", Caller: "checkout", Attempt: 2}
	tier := func(t admission.Tier) admission.Request { return admission.Request{Priority: t.Priority()} }
	none := admission.Request{}
	for name, c := range map[string]struct {
		metadata grpcmw.Metadata
		trusted  func(context.Context) bool
		sent     []string
		want     admission.Request
	}{
		"none is read by default":  {grpcmw.Metadata{}, trust, sent, none},
		"trusted":                  {all, trust, sent, full},
		"nobody by default":        {all, nil, sent, tier(admission.T3)},
		"a stranger may step back": {all, nobody, []string{"x-priority", "t5"}, tier(admission.T5)},
		"a stranger not forward":   {all, nobody, []string{"x-priority", "t0"}, tier(admission.T3)},
		"two tenants are none":     {all, trust, []string{"x-tenant", "acme", "x-tenant", "other"}, none},
		"two priorities are none":  {all, trust, []string{"x-priority", "t1", "x-priority", "t5"}, none},
		"malformed priority":       {all, trust, []string{"x-priority", "t9"}, none},
		"endless priority":         {all, trust, []string{"x-priority", strings.Repeat("t", 4000)}, none},
		"nobody becomes exempt":    {all, trust, []string{"x-priority", "exempt"}, none},
		"attempt 0":                {all, trust, []string{"x-envoy-attempt-count", "0"}, none},
		"negative attempt":         {all, trust, []string{"x-envoy-attempt-count", "-3"}, none},
		"absurd attempt":           {all, trust, []string{"x-envoy-attempt-count", "99999999999999999999"}, none},
		"attempts past an int":     {all, trust, []string{"x-envoy-attempt-count", "9223372036854775809"}, none},
		"gRPC's own attempts":      {all, trust, []string{"grpc-previous-rpc-attempts", "2"}, admission.Request{Attempt: 2}},
		"a stranger's attempts":    {all, nobody, []string{"grpc-previous-rpc-attempts", "2"}, none},
		"baggage":                  {all, trust, []string{"baggage", "a=b;p=1, admission.tenant = ac%20me ,admission.priority=t1/7"}, admission.Request{Priority: full.Priority, Tenant: "ac me"}},
		"baggage in two lines":     {all, trust, []string{"baggage", "admission.tenant=acme", "baggage", "admission.priority=t2"}, admission.Request{Priority: admission.T2.Priority(), Tenant: "acme"}},
		"baggage comes second":     {all, trust, []string{"baggage", "admission.priority=t1", "x-priority", "t4"}, tier(admission.T4)},
		"baggage of a stranger":    {all, nobody, []string{"baggage", "admission.priority=t0,admission.tenant=acme"}, tier(admission.T3)},
		"two members are none":     {all, trust, []string{"baggage", "admission.tenant=a,admission.tenant=b"}, none},
		"malformed member":         {all, trust, []string{"baggage", "admission.tenant=%zz,=,;,admission.priority"}, none},
		"endless baggage":          {all, trust, []string{"baggage", "admission.tenant=acme," + strings.Repeat("x", 9000)}, none},
		"baggage that is not read": {grpcmw.Metadata{Priority: "x-priority"}, trust, []string{"baggage", "admission.priority=t1"}, none},
	} {
		t.Run(name, func(t *testing.T) {
			s := &spy{}
			c.metadata.Trusted = c.trusted
			client := pair(t, control(t, admission.Config{}, watched(s)), grpcmw.Config{Metadata: c.metadata}, &service{})
			if r := ask(metadata.AppendToOutgoingContext(t.Context(), c.sent...), client); r.code != codes.OK {
				t.Fatalf("%+v", r)
			}
			got := s.Last()
			c.want.Op, c.want.Lane = unaryMethod, got.Lane
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("request is %+v\nwant       %+v", got, c.want)
			}
		})
	}
}

// Names of methods that no service has are made up by clients: they are one
// operation.
func TestUnknownMethodsAreOneOperation(t *testing.T) {
	s := &spy{}
	_, lis := serve(t, &service{}, append(grpcmw.ServerOptions(control(t, admission.Config{}, watched(s)), grpcmw.Config{}),
		grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error { return nil }))...)
	conn := dial(t, lis)
	for _, method := range []string{"/a.B/C", "/a.B/D"} {
		_ = conn.Invoke(t.Context(), method, &testgrpc.SimpleRequest{}, &testgrpc.SimpleResponse{})
		if got := s.Last().Op; got != "other" {
			t.Errorf("%s: op is %q", method, got)
		}
	}
}
