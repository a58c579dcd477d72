package main

import (
	"context"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
)

// none admits everything.
type none struct{}

func newNone(env) (limiter, error) { return none{}, nil }

func (none) do(ctx context.Context, _ *request, work func(context.Context) error) bool {
	_ = work(ctx)
	return true
}

func (none) close() {}

// trying is x/sync's semaphore, refusing what finds it full: pkg.go.dev/golang.org/x/sync/semaphore,
// "TryAcquire acquires the semaphore with a weight of n without blocking."
type trying struct{ s *semaphore.Weighted }

func newSemaphore(e env) (limiter, error) {
	return trying{semaphore.NewWeighted(int64(e.limit))}, nil
}

func (l trying) do(ctx context.Context, _ *request, work func(context.Context) error) bool {
	if !l.s.TryAcquire(1) {
		return false
	}
	defer l.s.Release(1)
	_ = work(ctx)
	return true
}

func (trying) close() {}

// waiting is x/sync's semaphore as its package example uses it: "if err := sem.Acquire(ctx, 1); err != nil".
type waiting struct{ s *semaphore.Weighted }

func newWaitingSemaphore(e env) (limiter, error) {
	return waiting{semaphore.NewWeighted(int64(e.limit))}, nil
}

func (l waiting) do(ctx context.Context, _ *request, work func(context.Context) error) bool {
	if l.s.Acquire(ctx, 1) != nil {
		return false
	}
	defer l.s.Release(1)
	_ = work(ctx)
	return true
}

func (waiting) close() {}

// bucket is x/time/rate: pkg.go.dev/golang.org/x/time/rate, "Use Allow if you intend to drop / skip events
// that exceed the rate limit."
type bucket struct{ l *rate.Limiter }

// burstSeconds of the rate may come at once.
const burstSeconds = 0.02

func newRate(e env) (limiter, error) {
	return bucket{rate.NewLimiter(rate.Limit(e.capacity), max(1, int(burstSeconds*e.capacity)))}, nil
}

func (l bucket) do(ctx context.Context, _ *request, work func(context.Context) error) bool {
	if !l.l.Allow() {
		return false
	}
	_ = work(ctx)
	return true
}

func (bucket) close() {}

// refusals empties the bucket.
func (l bucket) refusals() (map[string]func() bool, error) {
	l.l.SetLimit(1e-6)
	for l.l.Allow() {
	}
	return map[string]func() bool{"rate": func() bool { return !l.l.Allow() }}, nil
}
