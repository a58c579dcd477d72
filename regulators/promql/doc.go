// Package promql makes a signal of a PromQL query: what a Prometheus-compatible
// server (Prometheus, Thanos, Mimir, VictoriaMetrics) knows about the service or about what
// it depends on becomes pressure.
//
//	client, err := api.NewClient(api.Config{Address: "https://prometheus:9090", Client: httpClient})
//	…
//	lag, err := promql.New(client, `max(replica_lag_seconds{cluster="a"}) / 0.2`)
//	…
//	ctrl, err := admission.New(cfg, admission.WithSignal("replica-lag", lag))
//
// What such a server knows is as old as its last scrape and its rules, often half
// a minute. That is too slow to hold a queue by; it suits what changes slowly
// or is known nowhere else. It is a package of its own so that only those who use
// it link the client.
package promql
