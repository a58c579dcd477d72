// Package monitoring is what a Prometheus and a Grafana need to watch services that have a Spillway controller shown by
// package promadmission:
//
//   - dashboard.json, to be imported into Grafana: what is shed and why on top, then lanes, signals and tenants;
//   - alerts.yaml, alert rules, each with what it means, what to look at and what to change;
//   - alerts_test.yaml, their unit tests: promtool test rules alerts_test.yaml;
//   - prometheus.yml, a config that scrapes a service and loads the rules.
//
// Take the files as they are. What may need a change is the bounds and times of the rules.
//
// The tests hold them to the truth: each metric, label and value of a label in them is one of a running controller's,
// and a real Prometheus that scrapes it has something to show in every panel.
//
// [Start] runs a Prometheus on these files for a demonstration or a test; go run ./examples/shedcurve watch shows
// it with a service under load.
package monitoring
