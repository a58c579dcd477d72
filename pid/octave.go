package pid

import (
	"math"
	"time"
)

// Octave is the default law of the inflight limit: an integral regulator that
// holds the geometric-mean service time at about one and a half times a
// baseline, and measures that baseline by halving the limit, an octave, for
// some windows when it matters: now and then while the limit binds, and
// when it has been cut without effect. A downstream that merely became slower
// is told from a queue inside the back end by what the probe shows: if
// throughput falls with the limit the slowness is nobody's queue.
//
// It works on logarithms, so that a microsecond service and a ten second one
// get the same law; it never learns from failures and never moves when idle.
// The constants were found by experiment in simulation over a hundred
// scenarios; what was tried beside them and lost is in the comments.
//
// Relatives: Vegas (Brakmo & Peterson 1995), Netflix' Gradient2, Envoy's
// adaptive concurrency (which also lowers the limit to measure). The loop is a
// [Controller] with integral action only.
type Octave struct {
	cfg LimitConfig
	ctl *Controller // its output is lnL

	lnL   float64 // natural logarithm of the limit the law wants
	limit int     // in force: round(exp(lnL)), but for probes and trials

	win  window
	prev measured      // the windows before; n is 0 before the first
	last time.Duration // of the last tick

	base    float64 // ln of the baseline, in seconds
	mean    float64 // smoothed mean service time, seconds
	windows int     // closed so far
	grow    bool    // the last window ended growing: the next may close early
	maxHist float64 // the most slots used lately
	cut     float64 // cuts since the last growth, in ln

	probe probe
	trial trial
	rungs rungs
	rest  rest
	state LimitState
}

// The constants of the law. Raising the gain past 0.65 overshoots at the
// target's saturation; steps are larger upwards since a limit too low costs
// goodput and one too high, for a window, only latency.
const (
	octaveGain   = 0.65 // of one window
	octaveUp     = 0.5  // the largest step up, in ln
	octaveDown   = 0.3  // the largest step down, in ln
	octaveWindow = time.Second
)

// NewOctave returns the law at its initial limit. cfg.Fixed and cfg.Law are
// not looked at; the rest must be valid.
func NewOctave(cfg LimitConfig) (*Octave, error) {
	cfg.Fixed, cfg.Law = 0, ""
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.WithDefaults()
	ctl, err := New(cfg.control())
	if err != nil {
		return nil, err
	}
	o := &Octave{cfg: cfg, ctl: ctl, limit: cfg.Initial, last: -1}
	o.probe.gap, o.probe.next, o.probe.last = probeGapMin, 1, math.Inf(-1)
	o.trial.reset()
	o.setLn(math.Log(float64(cfg.Initial)))
	o.state.Why = "start"
	return o, nil
}

// control is the regulator between cfg's bounds: Max by a hair, since a
// controller's range must not be empty.
func (c LimitConfig) control() Config {
	return Config{
		KI:  octaveGain / octaveWindow.Seconds(),
		Min: math.Log(float64(c.Min)), Max: math.Log(float64(c.Max)) + 1e-9,
	}
}

func (o *Octave) config() LimitConfig { return o.cfg }

// setConfig puts new bounds into force; what was learned stays.
func (o *Octave) setConfig(cfg LimitConfig) error {
	cfg = cfg.WithDefaults()
	if err := o.ctl.SetConfig(cfg.control()); err != nil {
		return err
	}
	o.cfg = cfg
	o.setLn(o.lnL)
	o.limit = min(max(o.limit, cfg.Min), cfg.Max)
	return nil
}

// startAt moves a new law to a limit that another one has come to. From there
// on headroom is a matter of use, as if this one had come to it.
func (o *Octave) startAt(limit int) {
	o.setLn(math.Log(float64(max(limit, 1))))
	o.limit = o.round()
	o.maxHist = float64(o.limit) / 5
}

// Limit is the limit in force.
func (o *Octave) Limit() int { return o.limit }

// State explains the last decision.
func (o *Octave) State() LimitState {
	s := o.state
	s.Probing, s.Resting = o.probe.on, o.rest.until > o.last && o.last >= 0
	return s
}

// Observe takes in a finished request. Service times below a microsecond count
// as one, negative ones are dropped.
func (o *Octave) Observe(s Sample) {
	o.win.maxIn = max(o.win.maxIn, s.Inflight)
	if o.probe.settling {
		return
	}
	o.win.observe(s)
}

// Tick closes the window when it is full and moves the limit. A gap between
// ticks (an idle owner, a suspended machine) discards the window: nothing in
// it was measured at one limit under one load.
//
// A now earlier than the last counts as that one: time stands still.
func (o *Octave) Tick(now time.Duration, u Usage) {
	now = max(now, o.last)
	gap := now - o.last
	if o.last < 0 || gap > longestGap {
		o.abandon(now, u)
		return
	}
	o.last = now
	if o.probe.on {
		o.tickProbe(now, u)
		return
	}
	if now < o.rest.until {
		o.win.reset(now, u)
		return
	}
	el := (now - o.win.start).Seconds()
	if o.failing(el, u) {
		o.retreat(now, u)
		return
	}
	switch {
	case o.full(el):
		o.rest.pause = 0
		o.closeWindow(now, u, el)
	case o.trial.on && o.deserted(el, u):
		o.dropTrial()
		o.win.reset(now, u)
	}
}

// abandon forgets what is half measured and takes up time anew.
func (o *Octave) abandon(now time.Duration, u Usage) {
	o.last = now
	if o.probe.on {
		o.probe.on, o.probe.settling = false, false
		o.limit = o.round()
		o.state.Why = "probe: nothing learned"
	}
	if o.trial.on {
		o.limit = o.round()
		o.state.Why = "trial: nothing learned"
	}
	o.trial.abort()
	o.grow, o.prev = false, measured{}
	o.win.reset(now, u)
}

// full tells whether the window has time and samples enough. Growth may go on
// after little more than one service time, since the next level's latency
// needs no longer to show; near the target measurement wants full windows.
func (o *Octave) full(el float64) bool {
	n, early := o.win.n, 20
	if o.probe.next == 0 {
		early = probeTimed // its times are to be compared
	}
	return n >= 20 && el >= max(0.25, 2.5*o.mean) ||
		n >= 8 && el >= 5 ||
		o.grow && n >= early && el >= max(0.1, 1.2*o.mean)
}

// closeWindow is the law: baseline, error, step, and whether to probe.
func (o *Octave) closeWindow(now time.Duration, u Usage, el float64) {
	w := o.win.measure(el, u, o.limit)
	if !w.finite() {
		o.state.Why = "hold: measurement is not finite"
		o.win.reset(now, u)
		return
	}
	// The windows' length follows the mean. One request of a day among short ones
	// must not keep the law blind for hours; a twentieth a hundred times as long
	// is still below the bound.
	mean := min(w.mean, 10*math.Exp(w.y))
	if o.windows == 0 {
		o.mean = mean
	}
	o.mean += 0.3 * (mean - o.mean)
	if o.trial.on {
		o.tickTrial(now, u, w)
		return
	}
	if w.vague(o.limit) {
		o.state.Why = "hold: calm, and too few samples for how they differ"
		o.grow = false
		o.headroom(el)
		o.limit = o.round()
		o.win.reset(now, u)
		return
	}
	o.prev = w.after(o.prev)
	// The first windows are the baseline as they come, but do not lower one that
	// a probe has measured: after it the limit jumps, and what a window then sees
	// of the newly admitted is the short ones. Taken for the baseline they held
	// one cold start in six of a slow pool down for half a minute.
	if o.windows++; o.windows <= 3 && (w.y > o.base || math.IsInf(o.probe.last, -1)) {
		o.base = w.y
	}
	o.learn(w)

	g := w.y - o.base
	widest := tolerance(u.Deadline, o.base)
	tau := o.trial.tolerance(g, widest, w, o.limit)
	d := o.step(w, g, tau)
	if o.trial.voided(o.lnL) {
		o.trial.reset()
	}
	o.grow = w.binding && w.losing && d > 0 && g < 0.25
	o.headroom(el)
	d = o.tread(w, g, tau, d)
	o.state.Baseline, o.state.Latency = seconds(math.Exp(o.base)), seconds(math.Exp(w.y))

	if o.wantsProbe(now, w, g, tau, d) {
		o.startProbe(now, u, o.prev)
		return
	}
	if to, step := o.trial.aim(widest); o.trial.look(w, o.limit, g-tau) && o.teaches(step) {
		o.startTrial(now, u, to, step)
		return
	}
	o.limit = o.round()
	o.win.reset(now, u)
}

// headroom bounds the limit by five times what was used lately.
func (o *Octave) headroom(el float64) {
	o.maxHist = max(o.maxHist*math.Pow(0.98, el), float64(o.win.maxIn))
	o.setLn(min(o.lnL, math.Log(max(float64(o.cfg.Initial), 5*o.maxHist))))
}

// step moves lnL towards the tolerance and returns the move.
func (o *Octave) step(w measured, g, tau float64) float64 {
	before := o.lnL
	measured := min(max(g, tau-octaveUp/octaveGain), tau+octaveDown/octaveGain)
	d := octaveGain * (tau - measured)
	switch {
	case !w.binding && (d > 0 || w.busy < 0.5*float64(o.limit)):
		o.state.Why, d = "hold: the limit does not bind", 0
	case d >= 0:
		o.state.Why = "grow: faster than the baseline allows"
	default:
		o.state.Why = "cut: slower than the baseline allows"
	}
	if w.failed > 0.3 && g > 0.3 && d > -0.5*w.failed {
		o.state.Why = "cut: overload and slow"
		o.setLn(o.lnL - 0.5*w.failed)
	} else if d != 0 {
		o.lnL = o.ctl.Step(tau, measured, octaveWindow)
	}
	return o.lnL - before
}

func (o *Octave) floor() float64 { return math.Log(float64(o.cfg.Min)) }

func (o *Octave) round() int { return o.rounded(o.lnL) }

func (o *Octave) rounded(lnL float64) int {
	return min(max(int(math.Round(math.Exp(lnL))), o.cfg.Min), o.cfg.Max)
}

// setLn moves the regulator's output from outside its law.
func (o *Octave) setLn(v float64) {
	o.lnL = min(max(v, o.floor()), math.Log(float64(o.cfg.Max)))
	o.ctl.Reset(o.lnL)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
