package main

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/debug"
	"github.com/spillway-go/spillway/admission/promadmission"
	"github.com/spillway-go/spillway/examples/shedcurve/service"
)

// showAdmission adds to the service's pages what Spillway decides: as figures, as a page and for Prometheus.
func showAdmission(mux *http.ServeMux, ctrl *admission.Controller) error {
	registry := prometheus.NewRegistry()
	if err := promadmission.Register(registry, ctrl, promadmission.WithTopTenants(10)); err != nil {
		return err
	}
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /admission", func(w http.ResponseWriter, _ *http.Request) { service.WriteJSON(w, admissionNow(ctrl)) })
	mux.Handle("GET /debug/admission", debug.Handler(ctrl))
	return nil
}

// admissionStats are what Spillway decides.
type admissionStats struct {
	admission.Stats
	ConfigError string // what is wrong with the config file since it was last in force; empty: nothing
}

// admissionNow reads them. Errors are no JSON, so that of the config is told as text.
func admissionNow(ctrl *admission.Controller) admissionStats {
	s := admissionStats{Stats: ctrl.Stats()}
	if err := s.Config.Err; err != nil {
		s.ConfigError, s.Config.Err = err.Error(), nil
	}
	return s
}
