package grpcmw

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/orca"

	"github.com/spillway-go/spillway/admission"
)

// LoadMetrics tells what [admission.Controller.LoadReport] tells in the terms of
// ORCA: the pressure as application utilization, and the rates of requests and
// errors, in which sheds count. It is for those who put a server's options
// together themselves, with [orca.CallMetricsServerOption]; [ServerOptions] does it
// where [Config.LoadReports] is set.
func LoadMetrics(ctrl *admission.Controller) orca.ServerMetricsProvider { return loadMetrics{ctrl} }

// RegisterLoadReports has a server push ctrl's load to clients that ask for
// reports out of band, such as a balancer of weighted_round_robin with
// enableOobLoadReport. As package orca has it, that is no more often than every
// 30 s: reports with each call, see [Config.LoadReports], tell of an overload
// sooner.
func RegisterLoadReports(srv grpc.ServiceRegistrar, ctrl *admission.Controller) error {
	return orca.Register(srv, orca.ServiceOptions{ServerMetricsProvider: LoadMetrics(ctrl)})
}

type loadMetrics struct{ ctrl *admission.Controller }

// ServerMetrics returns maps of its own each time: package orca adds to them
// what a handler has recorded.
func (m loadMetrics) ServerMetrics() *orca.ServerMetrics {
	const unset = -1
	r := m.ctrl.LoadReport()
	return &orca.ServerMetrics{
		CPUUtilization: unset, MemUtilization: unset,
		AppUtilization: r.Utilization, QPS: r.QPS, EPS: r.EPS,
		Utilization: map[string]float64{}, RequestCost: map[string]float64{}, NamedMetrics: map[string]float64{},
	}
}

// report has a load report sent with a call: package orca sends none unless
// somebody has asked for the call's recorder.
func (s *server) report(ctx context.Context) {
	if s.cfg.LoadReports {
		orca.CallMetricsRecorderFromContext(ctx)
	}
}
