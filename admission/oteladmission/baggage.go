package oteladmission

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/baggage"

	"github.com/spillway-go/spillway/admission"
)

// Members of baggage in which priority and tenant travel; package grpcmw uses the
// same.
const (
	PriorityMember = "admission.priority"
	TenantMember   = "admission.tenant"
)

// As much as every hop must carry on (W3C Baggage, 3.3.2); what has more may be
// dropped on the way, all of it.
const (
	maxMembers = 64
	maxBytes   = 8192
)

// Extract returns the priority and the tenant that the baggage of ctx names; zero
// and empty where it names none or what is no priority. A propagator must have put
// the baggage there. Whoever sent the request chose both, so call it only for callers
// that are trusted; of others, take [admission.Controller.Untrusted] of the priority
// and leave the tenant.
func Extract(ctx context.Context) (priority admission.Priority, tenant string) {
	bag := baggage.FromContext(ctx)
	if p, err := admission.ParsePriority(bag.Member(PriorityMember).Value()); err == nil {
		priority = p
	}
	return priority, bag.Member(TenantMember).Value()
}

// Inject returns a context whose baggage names the priority and the tenant, for the
// calls made with it; the zero priority and the empty tenant leave what is there.
// If they do not fit (baggage holds 64 members and 8,192 bytes, and must be
// UTF-8), it returns ctx as it came and an error. A propagator sends baggage to
// everybody who is called: do not inject tenants into calls that leave the house.
func Inject(ctx context.Context, priority admission.Priority, tenant string) (context.Context, error) {
	if priority == admission.Exempt {
		priority = 0 // nobody is exempt because a message says so
	}
	bag := baggage.FromContext(ctx)
	for _, m := range [...]struct{ key, value string }{{PriorityMember, priority.String()}, {TenantMember, tenant}} {
		if m.value == "" {
			continue
		}
		member, err := baggage.NewMemberRaw(m.key, m.value)
		if err == nil {
			bag, err = bag.SetMember(member)
		}
		if err != nil {
			return ctx, fmt.Errorf("oteladmission: baggage member %s: %w", m.key, err)
		}
	}
	if n := len(bag.String()); n > maxBytes || bag.Len() > maxMembers {
		return ctx, fmt.Errorf("oteladmission: baggage would have %d members and %d bytes: must be at most %d and %d", bag.Len(), n, maxMembers, maxBytes)
	}
	return baggage.ContextWithBaggage(ctx, bag), nil
}
