package grpcmw

import (
	"context"
	"strings"

	"google.golang.org/grpc/metadata"

	"github.com/spillway-go/spillway/admission"
)

// Outgoing returns ctx whose outgoing metadata says p and tenant, under the keys
// that m names and, with m.Baggage, in baggage, in place of what it said of them
// before. What is zero or has no key is left out, and so is, but in baggage, a
// tenant that is no printable ASCII. The servers that are called
// believe it if they trust this one.
//
// An OpenTelemetry client instrumentation that propagates baggage replaces the
// whole list by that of its own context. Where there is one, set the members
// [PriorityMember] and [TenantMember] there.
func (m Metadata) Outgoing(ctx context.Context, p admission.Priority, tenant string) context.Context {
	if p == admission.Exempt {
		p = 0 // it is neither parsed nor taken from metadata
	}
	if p == 0 && tenant == "" {
		return ctx
	}
	md, ok := metadata.FromOutgoingContext(ctx) // a copy
	if !ok {
		md = metadata.MD{}
	}
	set := func(key, member, value string) {
		if value == "" {
			return
		}
		if key != "" && printable(value) {
			md.Set(key, value)
		}
		if m.Baggage {
			bag := strings.Join(md.Get(baggageKey), ",")
			md.Set(baggageKey, setMember(bag, member, value))
		}
	}
	set(m.Priority, PriorityMember, p.String())
	set(m.Tenant, TenantMember, tenant)
	return metadata.NewOutgoingContext(ctx, md)
}

// printable tells whether gRPC sends a value as it is. It fails a call whose
// metadata are not so.
func printable(value string) bool {
	for i := range len(value) {
		if value[i] < ' ' || value[i] > '~' {
			return false
		}
	}
	return true
}

// forward has ctx carry on what its call was described with.
func (s *server) forward(ctx context.Context, r *admission.Request) context.Context {
	if !s.cfg.Forward {
		return ctx
	}
	return s.cfg.Metadata.Outgoing(ctx, r.Priority, r.Tenant)
}
