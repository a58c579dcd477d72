package main

import (
	"context"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/failsafe-go/failsafe-go/adaptivethrottler"
	"github.com/failsafe-go/failsafe-go/priority"
)

// failsafeLimiter is failsafe-go's adaptive limiter with what NewWithDefaults gives: "min, max, and
// initial limits of 1, 200, and 20 respectively".
type failsafeLimiter struct {
	l adaptivelimiter.AdaptiveLimiter[any]
}

// failsafeBuilder starts at e.initial where that is given.
func failsafeBuilder(e env) adaptivelimiter.Builder[any] {
	b := adaptivelimiter.NewBuilder[any]()
	if e.initial > 0 {
		b = b.WithLimits(1, uint(max(200, e.initial)), uint(e.initial))
	}
	return b
}

func newFailsafe(e env) (limiter, error) { return failsafeLimiter{failsafeBuilder(e).Build()}, nil }

func (l failsafeLimiter) do(ctx context.Context, _ *request, work func(context.Context) error) bool {
	p, ok := l.l.TryAcquirePermit()
	if !ok {
		return false
	}
	settle(p, work(ctx))
	return true
}

// settle is as the Permit's documentation has it: "Drop ... should be used when an execution completes
// prematurely, such as via a timeout".
func settle(p adaptivelimiter.Permit, err error) {
	if err != nil {
		p.Drop()
		return
	}
	p.Record()
}

func (failsafeLimiter) close() {}

// failsafePrioritized is the same limiter with a prioritizer, as failsafe-go.dev/adaptive-limiter has it:
// "prioritizer.ScheduleCalibrations(ctx, time.Second)" and BuildPrioritized, whose queueing is by default that
// which is shown there, 2 and 3 times the limit. A usage tracker is what it has to be fair to tenants.
type failsafePrioritized struct {
	l    adaptivelimiter.PriorityLimiter[any]
	fair bool // among tenants
	stop context.CancelFunc
}

func newFailsafePrioritized(e env) (limiter, error) {
	b := adaptivelimiter.NewPrioritizerBuilder()
	if e.tenants != nil {
		b = b.WithUsageTracker(priority.NewUsageTracker(time.Minute, 10_000))
	}
	p := b.Build()
	l := failsafeBuilder(e).BuildPrioritized(p)
	return failsafePrioritized{l, e.tenants != nil, p.ScheduleCalibrations(context.Background(), time.Second)}, nil
}

// priorities of failsafe-go, of which there are five, by tier.
var priorities = [...]priority.Priority{
	priority.VeryHigh, priority.High, priority.Medium, priority.Low, priority.VeryLow, priority.VeryLow,
}

func (l failsafePrioritized) do(ctx context.Context, r *request, work func(context.Context) error) bool {
	if l.fair {
		ctx = priority.ContextWithUser(ctx, r.tenant)
	}
	p, err := l.l.AcquirePermitWithPriority(ctx, priorities[r.tier])
	if err != nil {
		return false
	}
	settle(p, work(ctx))
	return true
}

func (l failsafePrioritized) close() { l.stop() }

// failsafeThrottler sheds at random by the recent rate of failures, with what NewWithDefaults gives: "a
// failureRateThreshold of .1, a thresholdingPeriod of 1 minute, and a maxRejectionRate of .9".
type failsafeThrottler struct {
	t adaptivethrottler.AdaptiveThrottler[any]
}

func newFailsafeThrottler(env) (limiter, error) {
	return failsafeThrottler{adaptivethrottler.NewWithDefaults[any]()}, nil
}

func (l failsafeThrottler) do(ctx context.Context, _ *request, work func(context.Context) error) bool {
	if !l.t.TryAcquirePermit() {
		return false
	}
	l.t.RecordError(work(ctx))
	return true
}

func (failsafeThrottler) close() {}

// refusals are what it does after nothing but failures: nine of ten requests.
func (l failsafeThrottler) refusals() (map[string]func() bool, error) {
	for range 1000 {
		l.t.RecordFailure()
	}
	return map[string]func() bool{"failures": func() bool { return !l.t.TryAcquirePermit() }}, nil
}
