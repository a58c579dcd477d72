package main

import (
	"context"
	"time"

	"github.com/bohde/codel"
)

// codelOptions is the example of github.com/bohde/codel's README, but for MaxOutstanding: "MaxPending: 100",
// "TargetLatency: 5 * time.Millisecond". The module was joshbohde/codel before.
func codelOptions(e env) codel.Options {
	return codel.Options{MaxPending: 100, MaxOutstanding: e.limit, TargetLatency: 5 * time.Millisecond}
}

type codelLock struct{ l *codel.Lock }

func newCodel(e env) (limiter, error) { return codelLock{codel.New(codelOptions(e))}, nil }

func (l codelLock) do(ctx context.Context, _ *request, work func(context.Context) error) bool {
	if l.l.Acquire(ctx) != nil {
		return false
	}
	defer l.l.Release()
	_ = work(ctx)
	return true
}

func (codelLock) close() {}

// codelPriority is the same module's lock with priorities, of which higher ones are better.
type codelPriority struct{ l *codel.PLock }

func newCodelPriority(e env) (limiter, error) {
	return codelPriority{codel.NewPriority(codelOptions(e))}, nil
}

func (l codelPriority) do(ctx context.Context, r *request, work func(context.Context) error) bool {
	if l.l.Acquire(ctx, -r.tier) != nil {
		return false
	}
	defer l.l.Release()
	_ = work(ctx)
	return true
}

func (codelPriority) close() {}
