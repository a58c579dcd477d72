package admission

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/admission/internal/core"
	"github.com/spillway-go/spillway/regulators"
)

// signal is a user's signal in the loop. Its goroutine only polls; the loop
// steps its regulator with whatever reading there is, so that a signal that
// hangs holds up nobody.
type signal struct {
	name   string
	source regulators.Signal
	cfg    RegulatorConfig
	cancel context.CancelFunc
	ended  chan struct{}

	reading atomic.Pointer[reading]
	misses  atomic.Uint64

	regulator *core.Signal  // the loop's
	next      time.Duration // when it is stepped next
	last      time.Duration
	seen      signalSeen
	lost      bool // no reading, and it was logged
}

type reading struct {
	pressure float64
	at       time.Duration
}

// signalSeen is what Stats shows.
type signalSeen struct {
	mu    sync.Mutex
	stats SignalStats
}

func (c *Controller) startSignals(cfg Config) {
	for _, name := range slices.Sorted(maps.Keys(c.opts.signals)) {
		rc := cfg.Regulators[name].withDefaults()
		regulator, err := core.NewSignal(rc.Setpoint)
		if err != nil { // cannot be: its constants are ours
			continue
		}
		ctx, cancel := context.WithCancel(context.Background())
		s := &signal{
			name: name, source: c.opts.signals[name], cfg: rc, regulator: regulator,
			cancel: cancel, ended: make(chan struct{}),
		}
		s.seen.stats = SignalStats{Name: name, Setpoint: rc.Setpoint}
		c.signals = append(c.signals, s)
		go c.poll(ctx, s)
	}
}

// stopSignals ends the pollers and names those that do not end.
func (c *Controller) stopSignals() error {
	for _, s := range c.signals {
		s.cancel()
	}
	var errs []error
	grace, late := time.NewTimer(time.Second), false
	defer grace.Stop()
	for _, s := range c.signals {
		if !late { // one second for all of them together
			select {
			case <-s.ended:
			case <-grace.C:
				late = true
			}
		}
		select {
		case <-s.ended:
		default:
			errs = append(errs, fmt.Errorf("admission: signal %q does not heed its context; its poll is left behind", s.name))
		}
	}
	return errors.Join(errs...)
}

// poll asks the signal for as long as ctx lives. The period is jittered by
// 10 %, so that the signals of many processes do not ask one server at once.
func (c *Controller) poll(ctx context.Context, s *signal) {
	defer close(s.ended)
	timer := time.NewTimer(0)
	defer timer.Stop()
	defer func() {
		if ctx.Err() == nil {
			s.miss(errors.New("signal ended the goroutine that polls it"))
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		// A poll that hangs is a miss now, not when it comes back.
		late := time.AfterFunc(s.cfg.Timeout, func() { s.miss(fmt.Errorf("no answer within %v", s.cfg.Timeout)) })
		p, err := ask1(ctx, s)
		inTime := late.Stop()
		if err == nil && !core.ValidPressure(p) {
			err = fmt.Errorf("pressure is %v: must be from 0 to %g", p, core.MaxPressure)
		}
		switch {
		case err == nil:
			s.reading.Store(&reading{p, c.now()})
			s.answer(nil)
		case inTime:
			s.miss(err)
		}
		timer.Reset(time.Duration(float64(s.cfg.Period) * (0.9 + 0.2*rand.Float64())))
	}
}

func (s *signal) miss(err error) {
	s.misses.Add(1)
	s.answer(err)
}

func (s *signal) answer(err error) {
	s.seen.mu.Lock()
	s.seen.stats.Err = err
	s.seen.mu.Unlock()
}

// ask1 asks once; a panic is an error like any other.
func ask1(ctx context.Context, s *signal) (p float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("signal panicked: %v", v)
		}
	}()
	return s.source.Pressure(ctx)
}

// stepSignals steps the regulators that are due, hands each lane the largest
// ratio asked of it, and returns when the next is due.
func (c *Controller) stepSignals(now time.Duration) (wake time.Duration) {
	wake = forever
	if len(c.signals) == 0 {
		return wake
	}
	lanes := c.plan.Load().lanes
	for _, s := range c.signals {
		if now >= s.next {
			c.stepSignal(s, lanes, now)
			s.last, s.next = now, now+s.cfg.Period
		}
		wake = min(wake, s.next)
	}
	for _, l := range lanes {
		ratio, who := 0.0, ""
		for _, s := range c.signals {
			if r := s.regulator.Ratio(); r > ratio && s.binds(l) {
				ratio, who = r, s.name
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

// stepSignal: without a fresh reading the signal asks for nothing, at once:
// the loop fails open.
func (c *Controller) stepSignal(s *signal, lanes map[string]*lane, now time.Duration) {
	r := s.reading.Load()
	fresh := r != nil && now-r.at <= s.cfg.MaxAge
	applied := 0.0
	for _, l := range lanes {
		if s.binds(l) {
			l.mu.Lock()
			applied = max(applied, l.mu.core.ShedRatio())
			l.mu.Unlock()
		}
	}
	if fresh {
		s.regulator.Step(r.pressure, applied, now-s.last)
	} else {
		s.regulator.Reset()
	}
	s.seen.mu.Lock()
	st := &s.seen.stats
	st.Stale, st.Ratio, st.Terms = !fresh, s.regulator.Ratio(), s.regulator.Terms()
	if r != nil {
		st.Pressure, st.Age = r.pressure, now-r.at
	}
	s.seen.mu.Unlock()
	if lost := !fresh && r != nil; lost != s.lost {
		s.lost = lost
		if lost {
			c.opts.logger.LogAttrs(context.Background(), slog.LevelWarn, "signal lost", slog.String("signal", s.name))
		} else {
			c.opts.logger.LogAttrs(context.Background(), slog.LevelInfo, "signal found again", slog.String("signal", s.name))
		}
	}
}

// binds tells whether the signal acts on a lane.
func (s *signal) binds(l *lane) bool {
	return len(s.cfg.Lanes) == 0 || slices.ContainsFunc(s.cfg.Lanes, func(n string) bool { return laneName(n) == l.name })
}

// sameRegulators refuses a config whose signals are bound in another way.
func (c *Controller) sameRegulators(cfg Config) error {
	old, new := c.plan.Load().cfg.Regulators, cfg.WithDefaults().Regulators
	if maps.EqualFunc(old, new, func(a, b RegulatorConfig) bool { return reflect.DeepEqual(a, b) }) {
		return nil
	}
	return errors.New("admission: regulators differ from those in force: they are bound by New and cannot be applied to a running controller")
}
