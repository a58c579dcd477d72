package admission

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/admission/internal/core"
	"github.com/spillway-go/spillway/regulators"
)

// signal is a pressure for whole lanes: its PID's ratio goes to their gates. The
// poller only reads; the loop steps the PID with whatever reading there is.
type signal struct {
	*poller
	reading atomic.Pointer[reading[float64]]
	seen    struct { // what Stats shows
		sync.Mutex
		stats SignalStats
	}

	// The loop's.
	pid    *core.Signal
	last   time.Duration // when it was stepped
	came   uint64        // arrivals of its lanes until then
	cameAt time.Duration // and when they last changed
}

type reading[T any] struct {
	value T
	at    time.Duration
}

// fresh tells whether a reading counts at a time; there may be none.
func (r *reading[T]) fresh(now time.Duration, cfg *RegulatorConfig) bool {
	return r != nil && now-r.at <= cfg.MaxAge
}

// held tells whether one that is too old holds what it asked for.
func (r *reading[T]) held(now time.Duration, cfg *RegulatorConfig) bool {
	return r != nil && cfg.OnStale == staleHold && now-r.at-cfg.MaxAge <= cfg.HoldFor
}

func (c *Controller) newSignal(name string, source regulators.Signal, cfg RegulatorConfig) (*signal, error) {
	pid, err := core.NewSignal(cfg.signal())
	if err != nil {
		return nil, err
	}
	s := &signal{poller: newPoller(name, cfg), pid: pid, last: c.now()}
	s.seen.stats = SignalStats{Name: name, Setpoint: cfg.Setpoint, Stale: true}
	s.ask = func(ctx context.Context) error {
		p, err := source.Pressure(ctx)
		if err != nil {
			return err
		}
		if !core.ValidPressure(p) {
			return fmt.Errorf("pressure is %v: must be from 0 to %g", p, core.MaxPressure)
		}
		s.reading.Store(&reading[float64]{p, c.now()})
		return nil
	}
	return s, nil
}

// stepSignals steps the regulators that are due, hands each lane the largest
// ratio asked of it, and returns when the next is due.
func (c *Controller) stepSignals(now time.Duration) (wake time.Duration) {
	wake = forever
	p := c.plan.Load()
	for i := range p.keyed {
		b := &p.keyed[i]
		if now >= b.last+b.cfg.Period {
			c.stepKeyed(b, now)
		}
		wake = min(wake, b.last+b.cfg.Period)
	}
	for i := range p.signals {
		b := &p.signals[i]
		if now >= b.last+b.cfg.Period {
			c.stepSignal(b, p, now)
		}
		wake = min(wake, b.last+b.cfg.Period)
	}
	if len(p.signals) == 0 && !c.steered {
		return wake
	}
	c.steered = len(p.signals) > 0 // or once more, to let go
	for _, l := range p.lanes {
		ratio, who := 0.0, ""
		for i := range p.signals {
			b := &p.signals[i]
			if r := b.pid.Ratio(); r > ratio && b.binds(l) && !b.cfg.Shadow {
				ratio, who = r, b.name
			}
		}
		l.mu.Lock()
		l.mu.core.SetSignals(ratio, who)
		if ratio > 0 && l.mu.asleep {
			l.mu.asleep = false
		}
		l.mu.Unlock()
	}
	return wake
}

// stepSignal: without a fresh reading the signal asks for nothing, at once (the
// loop fails open), unless its config says that it holds what it asked for.
func (c *Controller) stepSignal(b *boundSignal, p *plan, now time.Duration) {
	s, r := b.signal, b.reading.Load()
	fresh := r.fresh(now, &b.cfg)
	applied, came := 0.0, uint64(0)
	for _, l := range p.lanes {
		if b.binds(l) {
			l.mu.Lock()
			if l.mode() == p.cfg.Mode { // one in shadow applies nothing, unless all are
				applied = max(applied, l.mu.core.ShedRatio())
			}
			came += l.mu.core.Arrivals()
			l.mu.Unlock()
		}
	}
	if came != s.came {
		s.came, s.cameAt = came, now
	}
	_ = s.pid.SetConfig(b.cfg.signal()) // was validated
	switch {
	case fresh && now-s.cameAt > core.Lull:
		s.pid.Rest(r.value, applied, now-s.last)
	case fresh:
		s.pid.Step(r.value, applied, now-s.last)
	case !r.held(now, &b.cfg):
		s.pid.Reset()
	}
	s.last = now
	s.seen.Lock()
	st := &s.seen.stats
	st.Setpoint, st.Shadow, st.Stale = b.cfg.Setpoint, b.cfg.Shadow, !fresh
	st.Ratio, st.Terms = s.pid.Ratio(), s.pid.Terms()
	if r != nil {
		st.Pressure, st.Age = r.value, now-r.at
	}
	s.seen.Unlock()
	s.tellEdge(c.opts.logger, now, fresh)
}

func (s *signal) stats() SignalStats {
	s.seen.Lock()
	st := s.seen.stats
	s.seen.Unlock()
	st.Misses, st.Err = s.misses.Load(), s.err()
	return st
}
