package core

import (
	"time"

	"github.com/spillway-go/spillway/pid"
)

// Signal is the regulator of one pressure: a PID on pressure minus setpoint,
// whose output is the shed ratio it asks for. Several signals act through the
// maximum of their ratios; those that do not bind track the one that does, so
// that a hand-over is smooth and none of them winds up.
type Signal struct {
	ctl      *pid.Controller
	setpoint float64
}

// The published constants of the loop (Uber's Cinnamon), on an error clamped
// to [-1, 1].
const (
	signalKP  = 0.1
	signalKI  = 1.4 // per second
	signalMax = 0.99
)

// NewSignal returns the regulator of a signal; setpoint must be above 0.
func NewSignal(setpoint float64) (*Signal, error) {
	ctl, err := pid.New(pid.Config{KP: signalKP, KI: signalKI, Max: signalMax, Reverse: true})
	if err != nil {
		return nil, err
	}
	return &Signal{ctl: ctl, setpoint: setpoint}, nil
}

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
	if applied > s.Ratio() && pressure > s.setpoint {
		s.ctl.Track(applied)
	}
	// In setpoints: an error of 5 % must not depend on the signal's unit, nor a
	// small setpoint keep the integrator from ever unwinding.
	return s.ctl.Step(1, min(pressure/s.setpoint, 2), dt)
}

// Reset makes the signal ask for nothing: there is no reading.
func (s *Signal) Reset() { s.ctl.Reset(0) }

// Ratio is what the signal asks for now.
func (s *Signal) Ratio() float64 { return s.ctl.Terms().Out }

// Terms explain it.
func (s *Signal) Terms() pid.Terms { return s.ctl.Terms() }
