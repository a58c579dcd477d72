package main

import (
	"context"

	"github.com/platinummonkey/go-concurrency-limits/core"
	"github.com/platinummonkey/go-concurrency-limits/limit"
	netflix "github.com/platinummonkey/go-concurrency-limits/limiter"
	"github.com/platinummonkey/go-concurrency-limits/strategy"
)

// netflixLimiter is github.com/platinummonkey/go-concurrency-limits, the Go port of Netflix's limits. Its
// README: "it is recommended to use a dynamic delay based limiter such as the VegasLimit on the server", and
// "In the simplest use case ... enforce a single gauge": SimpleStrategy.
type netflixLimiter struct{ l core.Limiter }

func newVegas(e env) (limiter, error) {
	l := limit.NewDefaultVegasLimitWithLimit("peer", e.initial, nil, nil)
	return newNetflix(l)
}

func newGradient2(e env) (limiter, error) {
	if e.initial == 0 {
		return newNetflix(limit.NewDefaultGradient2Limit("peer", nil, nil))
	}
	l, err := limit.NewGradient2Limit("peer", e.initial, max(200, e.initial), min(20, e.initial), nil, 0.2, 600, nil, nil)
	if err != nil {
		return nil, err
	}
	return newNetflix(l)
}

func newNetflix(law core.Limit) (limiter, error) {
	// The window is that of NewDefaultLimiterWithDefaults, which takes no limit of its caller's.
	const second, minRTT, samples = 1e9, 1e5, 100
	l, err := netflix.NewDefaultLimiter(law, second, second, minRTT, samples,
		strategy.NewSimpleStrategy(law.EstimatedLimit()), limit.NoopLimitLogger{}, core.EmptyMetricRegistryInstance)
	if err != nil {
		return nil, err
	}
	return netflixLimiter{l}, nil
}

func (l netflixLimiter) do(ctx context.Context, _ *request, work func(context.Context) error) bool {
	token, ok := l.l.Acquire(ctx)
	if !ok {
		return false
	}
	if work(ctx) != nil {
		token.OnDropped()
	} else {
		token.OnSuccess()
	}
	return true
}

func (netflixLimiter) close() {}
