package grpcmw

import (
	"context"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"github.com/spillway-go/spillway/admission"
)

// infrastructure are the services that say how a server fares: to refuse them
// would have it restarted, or its load sent elsewhere, for being busy.
var infrastructure = map[string]bool{
	"grpc.health.v1.Health":                    true,
	"grpc.reflection.v1.ServerReflection":      true,
	"grpc.reflection.v1alpha.ServerReflection": true,
	"grpc.channelz.v1.Channelz":                true,
	"xds.service.orca.v3.OpenRcaService":       true,
}

// IsInfrastructure is the default of [Config.Exempt]: the services of health,
// reflection, channelz and ORCA load reports, by their exact names.
func IsInfrastructure(fullMethod string) bool {
	name, rooted := strings.CutPrefix(fullMethod, "/")
	service, _, ok := strings.Cut(name, "/")
	return rooted && ok && infrastructure[service]
}

// PeerIdentity is the default of [Config.Caller]: whom the other end's
// certificate names. It is "" unless the handshake has verified the certificate,
// and else the SPIFFE ID, or the first DNS name, or the subject's common name.
// Where it is verified by other means than crypto/tls's own (with
// VerifyPeerCertificate, as go-spiffe does), set Caller.
func PeerIdentity(p *peer.Peer) string {
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.VerifiedChains) == 0 || len(info.State.PeerCertificates) == 0 {
		return ""
	}
	cert := info.State.PeerCertificates[0]
	switch id := info.SPIFFEID; {
	case id != nil:
		return "spiffe://" + id.Host + id.Path
	case len(cert.DNSNames) > 0:
		return cert.DNSNames[0]
	}
	return cert.Subject.CommonName
}

// describe says to the controller what a call is: what Classify knows, then what
// the server knows, then what the metadata claims.
func (s *server) describe(ctx context.Context, method, op string, req any) admission.Request {
	var r admission.Request
	if s.cfg.Classify != nil {
		r = s.cfg.Classify(ctx, method, req)
	}
	if r.Op == "" {
		r.Op = op
	}
	if r.Caller == "" {
		if p, ok := peer.FromContext(ctx); ok {
			r.Caller = s.cfg.Caller(p)
		}
	}
	if s.claims {
		s.cfg.Metadata.fill(ctx, s.ctrl, &r)
	}
	return r
}
