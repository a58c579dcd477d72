package main

import (
	"context"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/adaptivelimiter"

	"github.com/spillway-go/spillway/admission"
)

func heldByFailsafe(limiter adaptivelimiter.AdaptiveLimiter[any]) guard {
	return func(ctx context.Context, work func(context.Context) error) error {
		return failsafe.With(limiter).WithContext(ctx).Run(func() error { return work(ctx) })
	}
}

// bounds are those of adaptivelimiter's WithLimits(1, 200, 20).
func bounds() (*admission.Controller, error) {
	return admission.New(admission.Config{Lanes: map[string]admission.LaneConfig{
		"default": {Limit: admission.LimitConfig{Min: 1, Max: 200, Initial: 20}},
	}})
}

// heldByTier says with the request what failsafe-go's prioritized limiter reads from the
// context: priority.VeryHigh to VeryLow are about T0 to T4.
func heldByTier(ctrl *admission.Controller) guard {
	return func(ctx context.Context, work func(context.Context) error) error {
		return ctrl.Do(ctx, admission.Request{Priority: admission.T1.Priority()}, work)
	}
}
