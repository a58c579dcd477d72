package workload

import (
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/examples/shedcurve/orders"
)

var testSizes = orders.Sizes{Orders: 2_000, Customers: 110, Products: 1_600}

// What the generator sends is what the service takes it for: tier, lane and tenant.
func TestClassifyAgreesWithTheWorkload(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, c := range Requests(testSizes) {
		for range 100 {
			sent := c.Make(r)
			req := httptest.NewRequestWithContext(t.Context(), sent.Method, sent.Path, strings.NewReader(sent.Body))
			req.Header.Set("X-Tenant", sent.Tenant)
			got := Classify(req)
			lane := "read"
			if sent.Method == "POST" {
				lane = "write"
			}
			called := callOf(sent)
			ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs("x-tenant", called.Tenant))
			if over := ClassifyCall(ctx, called.Method, nil); over.Priority != got.Priority || over.Lane != got.Lane || over.Tenant != got.Tenant {
				t.Fatalf("%s over gRPC, %s, is taken for %+v, want the same as over HTTP, %+v", c.Name, called.Method, over, got)
			}
			if got.Op != c.Name || got.Priority.Tier().String() != c.Tier || got.Lane != lane || got.Tenant != sent.Tenant {
				t.Fatalf("%s of tier %s is taken for %+v, tier %s", c.Name, c.Tier, got, got.Priority.Tier())
			}
		}
	}
	if got := Classify(httptest.NewRequestWithContext(t.Context(), "GET", "/elsewhere", nil)); got.Priority.Tier() != admission.T3 {
		t.Errorf("an unknown request has tier %s, want the default's", got.Priority.Tier())
	}
}

func TestNoisyTenantHasTenTimesAShare(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	n := map[string]int{}
	const draws = 490_000
	for range draws {
		n[anyTenant(r)]++
	}
	if len(n) != Tenants {
		t.Errorf("%d tenants, want %d", len(n), Tenants)
	}
	const share = draws / (Tenants - 1 + NoisyFactor)
	if got := n[NoisyTenant]; got < share*NoisyFactor*98/100 || got > share*NoisyFactor*102/100 {
		t.Errorf("the noisy tenant asked %d times, want about %d", got, share*NoisyFactor)
	}
	for name, got := range n {
		if name != NoisyTenant && (got < share*95/100 || got > share*105/100) {
			t.Errorf("%s asked %d times, want about %d", name, got, share)
		}
	}
}
