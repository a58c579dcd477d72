package main

import (
	"context"

	"github.com/go-kratos/aegis/ratelimit"
	"github.com/go-kratos/aegis/ratelimit/bbr"
	"github.com/slok/goresilience"
	"github.com/slok/goresilience/concurrencylimit"
	"github.com/slok/goresilience/concurrencylimit/execute"
	"github.com/slok/goresilience/concurrencylimit/limit"
	shedder "github.com/zeromicro/go-zero/core/load"
	"github.com/zeromicro/go-zero/core/logx"
)

// aegis is go-kratos's BBR as its middleware makes it (middleware/ratelimit/ratelimit.go in go-kratos/kratos:
// "limiter: bbr.NewLimiter()"); it sheds from a CPU usage of 80 %.
type aegis struct{ l *bbr.BBR }

func newAegis(env) (limiter, error) { return aegis{bbr.NewLimiter()}, nil }

func (l aegis) do(ctx context.Context, _ *request, work func(context.Context) error) bool {
	done, err := l.l.Allow()
	if err != nil {
		return false
	}
	done(ratelimit.DoneInfo{Err: work(ctx)})
	return true
}

func (aegis) close() {}

// goZero is go-zero's shedder as its rest server makes it (rest/engine.go: "load.NewAdaptiveShedder(
// load.WithCpuThreshold(conf.CpuThreshold))", of which the default is 900, 90 %). It logs each request that
// it sheds, which is off here.
type goZero struct{ s shedder.Shedder }

func newGoZero(env) (limiter, error) {
	logx.Disable()
	shedder.DisableLog()
	return goZero{shedder.NewAdaptiveShedder(shedder.WithCpuThreshold(900))}, nil
}

func (l goZero) do(ctx context.Context, _ *request, work func(context.Context) error) bool {
	p, err := l.s.Allow()
	if err != nil {
		return false
	}
	if work(ctx) != nil {
		p.Fail()
	} else {
		p.Pass()
	}
	return true
}

func (goZero) close() {}

// resilience is goresilience's CoDel with adaptive LIFO, as in its examples/codel: "Executor:
// execute.NewAdaptiveLIFOCodel(execute.AdaptiveLIFOCodelConfig{}), Limiter: limit.NewStatic(workers)"; its
// README: "This executor is used with Static limiter."
type resilience struct {
	r    goresilience.Runner
	stop chan struct{}
}

func newGoresilience(e env) (limiter, error) {
	stop := make(chan struct{})
	return resilience{concurrencylimit.New(concurrencylimit.Config{
		Executor: execute.NewAdaptiveLIFOCodel(execute.AdaptiveLIFOCodelConfig{StopChannel: stop}),
		Limiter:  limit.NewStatic(e.limit),
	}), stop}, nil
}

func (l resilience) do(ctx context.Context, _ *request, work func(context.Context) error) bool {
	ran := false
	_ = l.r.Run(ctx, func(ctx context.Context) error {
		ran = true
		return work(ctx)
	})
	return ran
}

func (l resilience) close() { close(l.stop) }

// refusals are none: it refuses only after a wait.
func (l resilience) refusals() (map[string]func() bool, error) { return nil, nil }
