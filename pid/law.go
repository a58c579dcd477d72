package pid

import (
	"math"
	"time"
)

// limitLaws lists what LimitConfig.Law may be, the default first.
var limitLaws = []string{"octave", "aimd", "gradient2", "vegas"}

// newTunable returns the law that cfg asks for, which must be valid and pin no
// limit.
func newTunable(cfg LimitConfig) (tunable, error) {
	switch cfg.Law {
	case "aimd":
		return newTuned(cfg, aimd{}), nil
	case "gradient2":
		return newTuned(cfg, &gradient2{}), nil
	case "vegas":
		return newTuned(cfg, &vegas{}), nil
	}
	return NewOctave(cfg)
}

// tunable is a Limit whose config may change while it runs.
type tunable interface {
	Limit
	// config is that in force, with defaults.
	config() LimitConfig
	// setConfig puts new bounds into force; what was learned stays. It must be
	// valid and for the same law.
	setConfig(cfg LimitConfig) error
	// startAt moves a new law to a limit that another one has come to.
	startAt(limit int)
}

// tuned is a law that decides by one window of samples after the other. It keeps
// the window, the clock and the bounds; its rule has the arithmetic.
type tuned struct {
	cfg   LimitConfig
	rule  rule
	want  float64 // the limit as the rule counts it, with fractions
	win   window
	last  time.Duration // of the last tick; negative before the first
	state LimitState
}

// rule is the arithmetic of a tuned law.
type rule interface {
	// full tells whether a window of so many samples, at least one, is enough
	// to go by.
	full(samples int, elapsed time.Duration) bool
	// next returns the limit after a window and why. It may lie out of bounds.
	next(limit float64, w *window, chance float64) (next float64, why string)
	// baseline is the service time without queueing, in seconds; 0: unknown.
	baseline() float64
}

// newTuned returns the law at its initial limit. cfg must be valid.
func newTuned(cfg LimitConfig, r rule) *tuned {
	cfg = cfg.WithDefaults()
	return &tuned{cfg: cfg, rule: r, want: float64(cfg.Initial), last: -1, state: LimitState{Why: "start"}}
}

func (t *tuned) config() LimitConfig { return t.cfg }

func (t *tuned) setConfig(cfg LimitConfig) error {
	t.cfg = cfg.WithDefaults()
	t.set(t.want)
	return nil
}

func (t *tuned) startAt(limit int) { t.set(float64(limit)) }

// set moves the limit, within its bounds.
func (t *tuned) set(limit float64) {
	t.want = min(max(limit, float64(t.cfg.Min)), float64(t.cfg.Max))
}

// Limit is the limit in force.
func (t *tuned) Limit() int { return int(t.want) }

// State explains the last decision.
func (t *tuned) State() LimitState { return t.state }

// Observe takes in a finished request.
func (t *tuned) Observe(s Sample) {
	t.win.maxIn = max(t.win.maxIn, s.Inflight)
	t.win.observe(s)
}

// Tick moves the limit when the window is full. A gap between ticks discards
// it, and a now earlier than the last counts as that one.
func (t *tuned) Tick(now time.Duration, u Usage) {
	now = max(now, t.last)
	gap := now - t.last
	first := t.last < 0
	t.last = now
	if first || gap > longestGap {
		t.win.reset(now, u)
		return
	}
	w := &t.win
	if n := w.n + w.bad; n == 0 || !t.rule.full(n, now-w.start) {
		return
	}
	next, why := t.rule.next(t.want, w, u.Chance)
	if !math.IsNaN(next) {
		t.set(next)
		t.state.Why = why
	}
	t.state.Baseline = seconds(t.rule.baseline())
	if w.n > 0 {
		t.state.Latency = seconds(math.Exp(w.sy / float64(w.n)))
	}
	w.reset(now, u)
}

// second is the window of the laws that Netflix published: at least a second
// and ten samples. Theirs throws a window of fewer away, and so never moves
// under ten requests a second; here it goes on.
func second(samples int, elapsed time.Duration) bool {
	return samples >= 10 && elapsed >= time.Second
}
