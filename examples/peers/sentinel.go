package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	sentinel "github.com/alibaba/sentinel-golang/api"
	"github.com/alibaba/sentinel-golang/core/base"
	"github.com/alibaba/sentinel-golang/core/config"
	"github.com/alibaba/sentinel-golang/core/isolation"
	"github.com/alibaba/sentinel-golang/core/system"
	"github.com/alibaba/sentinel-golang/logging"
	"github.com/alibaba/sentinel-golang/util"
)

// sentinelEntry is a resource of sentinel-golang, whose state is the process's: there can be one at a time.
type sentinelEntry struct{ resource string }

// made is how many there were: each has a resource of its own, since what holds an earlier one goes on.
var made atomic.Int64

func newEntry() sentinelEntry { return sentinelEntry{fmt.Sprintf("peer-%d", made.Add(1))} }

// initSentinel is InitDefault but for its logs and its collectors, in whose place setCPU is.
var initSentinel = sync.OnceValue(func() error {
	if err := logging.ResetGlobalLogger(silent{logging.NewConsoleLogger()}); err != nil {
		return err
	}
	cfg := config.NewDefaultConfig()
	cfg.Sentinel.Log.Logger = silent{logging.NewConsoleLogger()}
	cfg.Sentinel.Log.Metric.FlushIntervalSec = 0
	cfg.Sentinel.Stat.System.CollectIntervalMs = 0
	cfg.Sentinel.Stat.System.CollectCpuIntervalMs = 0
	cfg.Sentinel.Stat.System.CollectLoadIntervalMs = 0
	cfg.Sentinel.Stat.System.CollectMemoryIntervalMs = 0
	cfg.Sentinel.UseCacheTime = false // its ticker would not run in virtual time
	util.SetClock(&forward{by: max(0, time.Until(started))})
	return sentinel.InitWithConfig(cfg)
})

// started is when sentinel's windows, which are package variables, begin.
var started = time.Now()

// forward is a clock that is never before started: virtual time begins in the year 2000.
type forward struct {
	util.RealClock
	by time.Duration
}

func (c *forward) Now() time.Time            { return time.Now().Add(c.by) }
func (c *forward) CurrentTimeMillis() uint64 { return uint64(c.Now().UnixMilli()) }
func (c *forward) CurrentTimeNano() uint64   { return uint64(c.Now().UnixNano()) }

// silent says nothing.
type silent struct{ logging.Logger }

func (silent) DebugEnabled() bool          { return false }
func (silent) InfoEnabled() bool           { return false }
func (silent) WarnEnabled() bool           { return false }
func (silent) ErrorEnabled() bool          { return false }
func (silent) Debug(string, ...any)        {}
func (silent) Info(string, ...any)         {}
func (silent) Warn(string, ...any)         {}
func (silent) Error(error, string, ...any) {}

// newSentinelSystem is its adaptive protection, the strategy BBR on CpuUsage from
// 80 % on, which is the default rule of its adapters ("DefaultSystemRule").
func newSentinelSystem(env) (limiter, error) {
	if err := initSentinel(); err != nil {
		return nil, err
	}
	_, err := system.LoadRules([]*system.Rule{{MetricType: system.CpuUsage, TriggerCount: 0.8, Strategy: system.BBR}})
	return newEntry(), err
}

// newSentinelIsolation is its cap of what is inside at once, example/isolation/concurrency_limitation_example.go:
// "isolation.Rule{Resource: ..., MetricType: isolation.Concurrency, Threshold: 12}".
func newSentinelIsolation(e env) (limiter, error) {
	if err := initSentinel(); err != nil {
		return nil, err
	}
	entry := newEntry()
	_, err := isolation.LoadRules([]*isolation.Rule{{
		Resource: entry.resource, MetricType: isolation.Concurrency, Threshold: uint32(e.limit),
	}})
	return entry, err
}

func (l sentinelEntry) do(ctx context.Context, _ *request, work func(context.Context) error) bool {
	e, blocked := sentinel.Entry(l.resource, sentinel.WithTrafficType(base.Inbound))
	if blocked != nil {
		return false
	}
	_ = work(ctx)
	e.Exit()
	return true
}

func (sentinelEntry) close() {
	_ = system.ClearRules()
	_ = isolation.ClearRules()
}
