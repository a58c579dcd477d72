package oteladmission_test

import (
	"context"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/baggage"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/oteladmission"
	"github.com/spillway-go/spillway/grpcmw"
)

// What is put in comes out, and over gRPC it is the same members.
func TestBaggage(t *testing.T) {
	if oteladmission.PriorityMember != grpcmw.PriorityMember || oteladmission.TenantMember != grpcmw.TenantMember {
		t.Error("package grpcmw has other names")
	}
	other, _ := baggage.NewMemberRaw("other", "stays")
	bag, _ := baggage.New(other)
	ctx := baggage.ContextWithBaggage(t.Context(), bag)
	for _, tc := range []struct {
		p, wantP admission.Priority
		tenant   string
		want     string
	}{
		{0, 0, "", ""},
		{admission.NewPriority(admission.T1, 37), admission.NewPriority(admission.T1, 37), "acme, Söhne = 100 %", "acme, Söhne = 100 %"},
		{0, admission.NewPriority(admission.T1, 37), "", "acme, Söhne = 100 %"}, // leaves what is there
		{admission.T5.Priority(), admission.T5.Priority(), "globex", "globex"},
		{admission.Exempt, admission.T5.Priority(), "", "globex"},
	} {
		var err error
		if ctx, err = oteladmission.Inject(ctx, tc.p, tc.tenant); err != nil {
			t.Fatal(err)
		}
		// As a propagator sends it.
		sent, err := baggage.Parse(baggage.FromContext(ctx).String())
		if err != nil {
			t.Fatal(err)
		}
		p, tenant := oteladmission.Extract(baggage.ContextWithBaggage(context.Background(), sent))
		if p != tc.wantP || tenant != tc.want || sent.Member("other").Value() != "stays" {
			t.Errorf("%v, %q: got %v, %q of %q", tc.p, tc.tenant, p, tenant, sent)
		}
	}
}

func TestBaggageThatDoesNotFit(t *testing.T) {
	for _, tenant := range []string{strings.Repeat("x", 8200), "a\xff"} {
		ctx, err := oteladmission.Inject(t.Context(), admission.T1.Priority(), tenant)
		if err == nil || ctx != t.Context() {
			t.Errorf("%.10q: %v", tenant, err)
		}
	}
	bad, _ := baggage.NewMemberRaw(oteladmission.PriorityMember, "t9")
	bag, _ := baggage.New(bad)
	if p, tenant := oteladmission.Extract(baggage.ContextWithBaggage(t.Context(), bag)); p != 0 || tenant != "" {
		t.Errorf("got %v, %q", p, tenant)
	}
}
