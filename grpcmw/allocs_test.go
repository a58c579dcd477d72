package grpcmw_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/grpcmw"
)

// transport is a call's, without a connection.
type transport struct{ grpc.ServerTransportStream }

func (transport) SetTrailer(metadata.MD) error { return nil }

// incoming is the context of a call from a client with a certificate.
func incoming(ctx context.Context) context.Context {
	ctx = metadata.NewIncomingContext(ctx, metadata.Pairs("user-agent", "test", ":authority", "orders"))
	cert := &x509.Certificate{DNSNames: []string{"checkout"}}
	ctx = peer.NewContext(ctx, &peer.Peer{AuthInfo: credentials.TLSInfo{State: tls.ConnectionState{
		PeerCertificates: []*x509.Certificate{cert}, VerifiedChains: [][]*x509.Certificate{{cert}},
	}}})
	return grpc.NewContextWithServerTransportStream(ctx, transport{})
}

// All that a refusal sends is made beforehand, and an admitted call is handed on
// as it is.
func TestNothingIsAllocatedPerCall(t *testing.T) {
	var served any = "served"
	handler := func(context.Context, any) (any, error) { return served, nil }
	streamHandler := func(any, grpc.ServerStream) error { return nil }
	info, streamInfo := &grpc.UnaryServerInfo{FullMethod: unaryMethod}, &grpc.StreamServerInfo{FullMethod: bidiMethod}
	ctx := incoming(t.Context())
	var ss grpc.ServerStream = bareStream{ctx: ctx}
	for name, c := range map[string]struct {
		cfg  admission.Config
		shut bool
		want codes.Code
	}{
		"admitted": {admission.Config{}, false, codes.OK},
		"shed":     {admission.Config{}, true, codes.Unavailable},
	} {
		ctrl := control(t, c.cfg)
		unary, stream := grpcmw.UnaryServerInterceptor(ctrl, grpcmw.Config{}), grpcmw.StreamServerInterceptor(ctrl, grpcmw.Config{})
		if c.shut {
			_ = ctrl.Close()
		}
		call := func() error {
			_, err := unary(ctx, nil, info, handler)
			return err
		}
		open := func() error { return stream("srv", ss, streamInfo, streamHandler) }
		for kind, f := range map[string]func() error{"call": call, "stream": open} {
			for range 1000 { // every answer is made when it is first needed
				if err := f(); status.Code(err) != c.want {
					t.Fatalf("%s: %s: %v, want %v", name, kind, err, c.want)
				}
			}
			if n := testing.AllocsPerRun(1000, func() { _ = f() }); n != 0 {
				t.Errorf("%s: %s: %v allocations, want none", name, kind, n)
			}
		}
	}
}

func BenchmarkUnary(b *testing.B) {
	var served any = "served"
	handler := func(context.Context, any) (any, error) { return served, nil }
	info := &grpc.UnaryServerInfo{FullMethod: unaryMethod}
	ctx := incoming(b.Context())
	shut := control(b, admission.Config{})
	_ = shut.Close()
	for _, c := range []struct {
		name string
		ctrl *admission.Controller
	}{{"bare", nil}, {"admitted", control(b, admission.Config{})}, {"shed", shut}} {
		b.Run(c.name, func(b *testing.B) {
			unary := grpcmw.UnaryServerInterceptor(c.ctrl, grpcmw.Config{})
			b.ReportAllocs()
			for b.Loop() {
				_, _ = unary(ctx, nil, info, handler)
			}
		})
	}
}
