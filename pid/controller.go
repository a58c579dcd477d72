package pid

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Config holds the gains and the bounds of a Controller. There are no defaults:
// a gain of zero switches its term off, and Min must be below Max, so the zero
// Config is not valid.
type Config struct {
	// KP is the output per unit of error, at least 0.
	KP float64
	// KI is the output per unit of error and second, at least 0. Higher
	// removes a standing error sooner and overshoots more.
	KI float64
	// KD is the output per unit of measured change per second, in seconds, at
	// least 0. The change is not filtered: leave it at zero for a noisy
	// measurement, or smooth that first.
	KD float64
	// Min and Max bound the output and the integrator; Min < Max.
	Min, Max float64
	// Reverse makes the error measured - setpoint, for an actuator that lowers
	// what is measured, such as shedding. Otherwise it is setpoint - measured.
	Reverse bool
}

// Validate reports every problem of c at once, joined; nil when there is none.
func (c Config) Validate() error {
	var errs []error
	for _, f := range []struct {
		name  string
		value float64
		gain  bool
	}{{"KP", c.KP, true}, {"KI", c.KI, true}, {"KD", c.KD, true}, {"Min", c.Min, false}, {"Max", c.Max, false}} {
		switch {
		case !finite(f.value):
			errs = append(errs, fmt.Errorf("pid: %s is %v, must be a finite number", f.name, f.value))
		case f.gain && f.value < 0:
			errs = append(errs, fmt.Errorf("pid: %s is %v, must be at least 0 (Reverse changes the sign of the error)", f.name, f.value))
		}
	}
	if finite(c.Min) && finite(c.Max) && c.Min >= c.Max {
		errs = append(errs, fmt.Errorf("pid: Min is %v, must be below Max, which is %v", c.Min, c.Max))
	}
	return errors.Join(errs...)
}

func (c Config) clamp(x float64) float64 { return min(max(x, c.Min), c.Max) }

// Terms is what the last Step made its output of, for whoever explains the
// decision: Out is P + I + D held within [Min, Max].
type Terms struct{ P, I, D, Out float64 }

// Controller is a PID controller whose output stays within [Min, Max] whatever
// it is fed. It is not safe for concurrent use, never blocks and never
// allocates after New. The zero Controller has no room between its bounds and
// always returns 0; make one with New.
type Controller struct {
	cfg Config

	// integral is a contribution to the output, not a sum of errors, so that a
	// new KI changes how it goes on and not where it stands.
	integral float64
	terms    Terms

	err, measured float64       // of the last Step, when stepped
	dt            time.Duration // as given to the last Step
	stepped       bool

	// start is the output to begin at once the next Step tells the error, when
	// starting: until then P, and so what is left for the integrator, is not known.
	start    float64
	starting bool
}

// New returns a Controller whose integrator stands at the value nearest to 0
// that lies within the bounds. The error is that of cfg.Validate.
func New(cfg Config) (*Controller, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	zero := cfg.clamp(0)
	return &Controller{cfg: cfg, integral: zero, terms: Terms{I: zero, Out: zero}}, nil
}

// Step returns the output for a measurement, dt after the Step before it, in
// the unit of Min and Max.
//
// dt is measured by the caller, not nominal, so a late tick is integrated as
// the time it took. With dt <= 0, or with a setpoint or measurement that is NaN
// or infinite, nothing changes and the last output is returned; dt of the next
// Step is then best counted from the last one that was good.
//
// For the integrator dt counts as at most one second or twice the dt before,
// whichever is longer. After a long stop (a suspended machine, a frozen
// container) one fresh measurement says nothing about the time gone by, and must
// not swing the actuator as if it had held for all of it. A loop that does run
// slowly is believed from its second step on.
//
// The integrator always integrates and is then clamped to [Min, Max]. The usual
// alternative, not to integrate while the output is saturated, can deadlock:
// with the output held at a bound by the integrator itself, an error that asks
// to leave the bound is never taken in, because the output is saturated.
//
// The derivative acts on the measurement, not on the error, so a moved setpoint
// gives no kick; the first Step after New or Reset has none.
func (c *Controller) Step(setpoint, measured float64, dt time.Duration) float64 {
	if dt <= 0 || !finite(setpoint) || !finite(measured) {
		return c.terms.Out
	}
	c.err = saturate(c.sign() * (setpoint - measured))
	p := c.proportional()
	if c.starting {
		c.integral, c.starting = c.cfg.clamp(c.start-p), false
	}
	counted := min(dt, max(time.Second, 2*c.dt))
	c.integral = c.cfg.clamp(c.integral + c.cfg.KI*c.err*counted.Seconds())

	d := 0.0
	if c.stepped && c.cfg.KD > 0 {
		rate := saturate((measured - c.measured) / dt.Seconds())
		d = saturate(-c.sign() * c.cfg.KD * rate)
	}
	c.measured, c.dt, c.stepped = measured, dt, true
	c.terms = Terms{P: p, I: c.integral, D: d, Out: c.cfg.clamp(p + c.integral + d)}
	return c.terms.Out
}

// Track tells the controller that the actuator is at out, because another
// controller binds. The integrator is set (back-calculation, "Feedback Systems"
// 11.4, with a tracking time of one step) so that the next Step goes on from
// out: at an unchanged error it returns out and what it then integrates. Without
// it a controller that does not bind winds down, or up, and is late when its
// turn comes.
//
// Track does not change Terms, nor what a Step without a usable measurement
// returns: that stays this controller's own last output. The integrator keeps to
// [Min, Max], so the start is exact unless out less P lies outside. An out that
// is NaN or infinite is ignored.
func (c *Controller) Track(out float64) {
	if !finite(out) {
		return
	}
	out = c.cfg.clamp(out)
	if !c.stepped {
		c.start, c.starting = out, true
		return
	}
	// D is left out: the next Step computes it afresh, and what the integrator
	// gave for a passing D it would keep.
	c.integral = c.cfg.clamp(out - c.proportional())
}

// Reset starts the controller afresh at out, held within [Min, Max]: whatever
// the error of the next Step, it returns out and what it then integrates, as
// long as out less P lies within the bounds. The derivative's memory is
// forgotten. An out that is NaN or infinite is ignored.
func (c *Controller) Reset(out float64) {
	if !finite(out) {
		return
	}
	out = c.cfg.clamp(out)
	*c = Controller{
		cfg: c.cfg, dt: c.dt, integral: out, terms: Terms{I: out, Out: out},
		start: out, starting: true,
	}
}

// SetConfig changes gains and bounds while running. The integrator takes over
// what a new KP, or a turned Reverse, takes from P, so the output does not jump,
// unless the new bounds leave no other way. An invalid cfg is refused with
// the error of Validate, and nothing changes.
func (c *Controller) SetConfig(cfg Config) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	before := c.proportional()
	if cfg.Reverse != c.cfg.Reverse {
		c.err = -c.err
	}
	c.cfg = cfg
	c.integral = cfg.clamp(c.integral + before - c.proportional())
	c.start = cfg.clamp(c.start)
	c.terms.Out = cfg.clamp(c.terms.Out)
	return nil
}

// Terms returns the terms of the last Step; before the first one, and after
// Reset, I and Out are where the controller starts.
func (c *Controller) Terms() Terms { return c.terms }

func (c *Controller) proportional() float64 { return saturate(c.cfg.KP * c.err) }

func (c *Controller) sign() float64 {
	if c.cfg.Reverse {
		return -1
	}
	return 1
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// saturate keeps a term far from overflow: the sum of two infinite terms of
// unlike sign, or zero gain times an infinite error, would be NaN.
func saturate(x float64) float64 {
	const most = math.MaxFloat64 / 8
	return min(max(x, -most), most)
}
