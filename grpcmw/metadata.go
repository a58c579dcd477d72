package grpcmw

import (
	"context"
	"strconv"

	"google.golang.org/grpc/metadata"

	"github.com/spillway-go/spillway/admission"
)

// attemptsKey is where a client's library counts the tries before this one (gRFC
// A6).
const attemptsKey = "grpc-previous-rpc-attempts"

// describe tells whether any metadata at all may describe a call.
func (m *Metadata) describe() bool {
	return m.Trusted != nil || m.Priority != "" || m.Baggage
}

// fill adds what the metadata of a call claims and the sender may claim, wherever
// r is still empty.
func (m *Metadata) fill(ctx context.Context, ctrl *admission.Controller, r *admission.Request) {
	trusted := m.Trusted != nil && m.Trusted(ctx)
	bag := ""
	if m.Baggage {
		bag = baggageOf(ctx)
	}
	if r.Priority == 0 {
		r.Priority = m.priority(ctx, bag)
		if !trusted {
			r.Priority = ctrl.Untrusted(r.Priority)
		}
	}
	if !trusted {
		return
	}
	if r.Tenant == "" {
		if r.Tenant = single(ctx, m.Tenant); r.Tenant == "" {
			r.Tenant, _ = member(bag, TenantMember)
		}
	}
	if r.Caller == "" {
		r.Caller = single(ctx, m.Caller)
	}
	if r.Attempt == 0 {
		// Attempt counts from 1: this try is one of them.
		if n := count(single(ctx, m.Attempt)); n > 0 {
			r.Attempt = n - 1
		} else {
			r.Attempt = count(single(ctx, attemptsKey))
		}
	}
}

// priority is what the metadata asks for, zero for nothing.
func (m *Metadata) priority(ctx context.Context, bag string) admission.Priority {
	s := single(ctx, m.Priority)
	if s == "" {
		s, _ = member(bag, PriorityMember)
	}
	if s == "" {
		return 0
	}
	p, err := admission.ParsePriority(s)
	if err != nil {
		return 0
	}
	return p
}

// retried tells whether the client's library says that this is a retry.
func retried(ctx context.Context) bool { return count(single(ctx, attemptsKey)) > 0 }

// single is the value of a key that is there once, else "": of two claims that
// contradict each other neither can be believed.
func single(ctx context.Context, key string) string {
	if key == "" {
		return ""
	}
	if v := metadata.ValueFromIncomingContext(ctx, key); len(v) == 1 {
		return v[0]
	}
	return ""
}

// count reads a number of tries, 0 where it is none.
func count(s string) int {
	if s == "" {
		return 0
	}
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil {
		return 0
	}
	return int(n)
}
