package main

import (
	"context"
	"errors"

	"golang.org/x/time/rate"

	"github.com/spillway-go/spillway/admission"
)

var errTooMany = errors.New("too many requests")

func heldByRate(limiter *rate.Limiter) guard {
	return func(ctx context.Context, work func(context.Context) error) error {
		if !limiter.Allow() {
			return errTooMany
		}
		return work(ctx)
	}
}

// perTenant gives each tenant 100 a second, beside the limit that finds itself.
func perTenant() (*admission.Controller, error) {
	return admission.New(admission.Config{Regulators: map[string]admission.RegulatorConfig{
		"quota": {Kind: "rate", By: "tenant", Limit: 100},
	}})
}

func heldByQuota(ctrl *admission.Controller, tenant string) guard {
	return func(ctx context.Context, work func(context.Context) error) error {
		return ctrl.Do(ctx, admission.Request{Tenant: tenant}, work)
	}
}
