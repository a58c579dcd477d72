package core

import (
	"math"
	"time"

	"github.com/spillway-go/spillway/pid"
)

// Signal is the regulator of one pressure: a PID on pressure over setpoint, less
// one. Several signals act through the maximum of their ratios; those that do not
// bind track the one that does, so that a hand-over is smooth and none of them
// winds up.
//
// The PID's output is not the shed ratio r but the effort u = -ln(1-r), of which
// r = 1-exp(-u) is the first term while it is small. What a resource bears is
// what passes, offered x (1-r): a step of the ratio from 0.6 to 0.7 takes a
// quarter of it away, one from 0 to 0.1 a tenth. On the ratio itself the loop's
// gain therefore grows with the load, and from 2.9 times the capacity on it swung
// from bound to bound; an equal step of the effort takes an equal share of what
// passes, whatever the load.
type Signal struct {
	ctl *pid.Controller
	cfg SignalConfig
}

// SignalConfig is what a signal's PID holds and how fast: Setpoint and KI must be
// above 0, KP at least 0, all finite.
type SignalConfig struct {
	Setpoint float64
	KP       float64 // effort per error
	KI       float64 // effort per error and second
}

func (c SignalConfig) pid() pid.Config {
	return pid.Config{KP: c.KP, KI: c.KI, Max: effort(signalMax), Reverse: true}
}

// The published constants of the loop (Uber's Cinnamon), on an error clamped
// to [-1, 1]. At the period of 500 ms the loop's gain is 0.8 of what would bring
// a resource that answers at once to its setpoint in one step.
const (
	SignalKP = 0.1
	SignalKI = 1.4 // per second
)

const (
	signalMin = 0.01 // below it a rest is complete
	signalMax = 0.99
)

// NewSignal returns the regulator of a signal.
func NewSignal(cfg SignalConfig) (*Signal, error) {
	ctl, err := pid.New(cfg.pid())
	if err != nil {
		return nil, err
	}
	return &Signal{ctl: ctl, cfg: cfg}, nil
}

// effort is what it takes to shed a ratio; beyond signalMax it grows no more.
func effort(ratio float64) float64 { return -math.Log1p(-min(ratio, signalMax)) }

// MaxPressure is the largest reading that is believed: nothing bears a billion
// times what it should, so more is the result of a division by almost nothing.
const MaxPressure = 1e9

// ValidPressure tells whether a reading can be used at all; NaN cannot.
func ValidPressure(p float64) bool { return p >= 0 && p <= MaxPressure }

// Step takes in a reading, dt after the last one, and returns the ratio the
// signal asks for. applied is the ratio in force: where it is larger another
// signal binds, and this one follows it.
func (s *Signal) Step(pressure, applied float64, dt time.Duration) float64 {
	if !ValidPressure(pressure) {
		return s.Ratio()
	}
	if applied > s.Ratio() && pressure > s.cfg.Setpoint {
		s.ctl.Track(effort(applied))
	}
	// In setpoints: an error of 5 % must not depend on the signal's unit, nor a
	// small setpoint keep the integrator from ever unwinding.
	s.ctl.Step(1, min(pressure/s.cfg.Setpoint, 2), dt)
	return s.Ratio()
}

// Lull is how long nobody must have come for a signal to rest: longer than the
// gaps between bursts. A resource that bursts of half a second each two seconds
// kept at its setpoint would have 2.8 times that if each gap made the signal
// forget.
const Lull = 4 * time.Second

// Rest stands for Step in a lull, when what is shed has nothing to do with the
// pressure there is. Below the setpoint the ratio is halved each period, at least,
// or who comes first would be shed for an overload that is over: of a resource that
// rests at 0.95 of its setpoint the PID lets go in half a minute.
func (s *Signal) Rest(pressure, applied float64, dt time.Duration) {
	half := s.Ratio() / 2
	if half < signalMin {
		half = 0
	}
	if s.Step(pressure, applied, dt) > half && pressure <= s.cfg.Setpoint {
		s.ctl.Reset(effort(half))
	}
}

// SetConfig changes what is held, and how fast, while it runs; the ratio stays.
// An invalid cfg is refused, and nothing changes.
func (s *Signal) SetConfig(cfg SignalConfig) error {
	if cfg == s.cfg {
		return nil
	}
	if err := s.ctl.SetConfig(cfg.pid()); err != nil {
		return err
	}
	s.cfg = cfg
	return nil
}

// Reset makes the signal ask for nothing: there is no reading.
func (s *Signal) Reset() { s.ctl.Reset(0) }

// Ratio is what the signal asks for now, from 0 to 0.99.
func (s *Signal) Ratio() float64 { return -math.Expm1(-s.ctl.Terms().Out) }

// Terms explain it: Out is -ln(1-Ratio).
func (s *Signal) Terms() pid.Terms { return s.ctl.Terms() }
