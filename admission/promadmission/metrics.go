package promadmission

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spillway-go/spillway/admission/internal/facts"
)

// tenantInflight and tenantShed are told by nobody else: which tenants are shown
// is a matter of this package.
var (
	tenantInflight = &facts.Fact{
		Name: "tenant.inflight", Unit: "{request}", Kind: facts.Level, Labels: []string{"rule", "tenant"},
		Help: "Inflight requests of a tenant under a rule; _other: of all that are not shown.",
	}
	tenantShed = &facts.Fact{
		Name: "tenant.rejections", Unit: "{request}", Kind: facts.Counter, Labels: []string{"rule", "tenant"},
		Help: "Requests that a rule refused, or would have, of a tenant; _other: of all that are not shown.",
	}
)

// describe makes the descriptions of all facts.
func describe(limiter string) map[*facts.Fact]*prometheus.Desc {
	descs := map[*facts.Fact]*prometheus.Desc{}
	for _, f := range append([]*facts.Fact{tenantInflight, tenantShed}, facts.All...) {
		name := metricName(f)
		if f.Kind == facts.Counter {
			name += "_total"
		}
		descs[f] = prometheus.NewDesc(name, f.Help, f.Labels, prometheus.Labels{"limiter": limiter})
	}
	for _, f := range []*facts.Fact{facts.Wait, facts.Service} {
		descs[f] = prometheus.NewDesc(metricName(f), f.Help, f.Labels, prometheus.Labels{"limiter": limiter})
	}
	return descs
}

func metricName(f *facts.Fact) string {
	name := "admission_" + strings.ReplaceAll(f.Name, ".", "_")
	if f.Unit == "s" {
		name += "_seconds"
	}
	return name
}
