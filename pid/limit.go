package pid

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Limit is a law that moves an inflight limit. Implementations are pure: time
// and measurements come in, a number goes out. The owner calls the methods
// under its own lock, so they need none; they must not block.
type Limit interface {
	// Limit is how many slots may be taken now, at least 1.
	Limit() int
	// Observe takes in a request that ran and came out as a success or as
	// overload. Other outcomes say nothing about capacity and are not shown; of
	// very many requests only a fair sample is, see Sample.More.
	Observe(Sample)
	// Tick is called about every [TickPeriod] while there is work. It is where
	// the limit may move.
	Tick(now time.Duration, u Usage)
}

// TickPeriod is how often a Limit's Tick is called.
const TickPeriod = 50 * time.Millisecond

// Sample is one finished request.
type Sample struct {
	Service  time.Duration // from admission to release
	Inflight int           // slots taken just after its admission, its own among them
	Overload bool          // it failed for want of capacity; Service is then no measurement
	More     int           // successes besides it since the sample before, which were not timed
}

// Usage is how the limit was used. The totals only ever grow; a law takes
// differences over its own windows.
type Usage struct {
	Area     float64       // total of inflight x seconds
	Blocked  uint64        // total of arrivals that found no slot
	Lost     uint64        // total of requests that the queue expired, evicted or refused
	Deadline time.Duration // how long callers wait; 0: unknown
	Chance   float64       // uniform in [0,1), for jitter: a pure law draws none itself
}

// LimitState explains a law: what it measured and what it did last.
type LimitState struct {
	Why      string        // the last decision, a constant phrase
	Baseline time.Duration // service time without queueing, as far as it knows
	Latency  time.Duration // geometric mean service time of the last window
	Probing  bool          // the limit is halved for a moment to measure the baseline
	Resting  bool          // at its floor and still failing: no grants for a while
}

// Explainer is what a Limit may offer besides.
type Explainer interface{ State() LimitState }

// Joiner is what a Limit may offer besides, for lanes that may share a back end.
// What one lane measures at a lowered limit says little while the others take
// what it leaves: two lanes of one processor then hold each other's requests for
// part of what a request takes by nature, and their baselines climb.
type Joiner interface {
	// Join is called right after a tick in which another lane's law has begun
	// to measure at a lowered limit, so that this one can do so at the same
	// time. It may be called at any time and may do nothing.
	Join(now time.Duration, u Usage)
}

// LimitConfig configures the inflight limit of a lane. The zero value is the
// octave law between 1 and 4,000, from 8.
type LimitConfig struct {
	// Fixed pins the limit. Zero: it is tuned.
	Fixed int `json:"fixed"`
	// Initial is where the tuner starts. Zero: 8, or the 20 that laws other than
	// octave were published with, within Min and Max. Too high overwhelms a
	// small back end before the first measurement, too low is slow to reach a
	// large one; 6 to 12 made no difference to octave in simulation.
	Initial int `json:"initial"`
	// Min is the floor, at least 1. Zero: 1.
	Min int `json:"min"`
	// Max is the ceiling. Zero: 4,000.
	Max int `json:"max"`
	// Law is how it is tuned: "octave", "aimd", "gradient2" or "vegas"; empty:
	// "octave". The others are there for comparison with what is known
	// elsewhere: in simulation none of them came near it (see package sim).
	Law string `json:"law"`
}

// maxLimit bounds Max and Fixed: a million slots is no limit any more.
const maxLimit = 1_000_000

// WithDefaults fills in what was left zero.
func (c LimitConfig) WithDefaults() LimitConfig {
	if c.Fixed > 0 {
		return c
	}
	if c.Law == "" {
		c.Law = limitLaws[0]
	}
	if c.Min == 0 {
		c.Min = 1
	}
	if c.Max == 0 {
		c.Max = max(4000, c.Min)
	}
	if c.Initial == 0 {
		c.Initial = 8
		if c.Law != limitLaws[0] {
			c.Initial = 20
		}
		c.Initial = min(max(c.Initial, c.Min), c.Max)
	}
	return c
}

// Validate reports everything that is wrong, each with field, value and rule.
func (c LimitConfig) Validate() error {
	var errs []error
	bad := func(field string, value any, rule string) {
		errs = append(errs, wrong("limit", field, value, rule))
	}
	for _, f := range []struct {
		name  string
		value int
	}{{"fixed", c.Fixed}, {"initial", c.Initial}, {"min", c.Min}, {"max", c.Max}} {
		if f.value < 0 || f.value > maxLimit {
			bad(f.name, f.value, fmt.Sprintf("must be between 0 and %d", maxLimit))
		}
	}
	if c.Law != "" && !slices.Contains(limitLaws, c.Law) {
		bad("law", fmt.Sprintf("%q", c.Law), "must be one of "+strings.Join(limitLaws, ", "))
	}
	if c.Fixed > 0 && (c.Initial != 0 || c.Min != 0 || c.Max != 0 || c.Law != "") {
		bad("fixed", c.Fixed, "a pinned limit takes no initial, min, max or law")
	}
	if d := c.WithDefaults(); len(errs) == 0 && d.Fixed == 0 {
		if d.Min > d.Max {
			bad("min", d.Min, fmt.Sprintf("must be at most max, %d", d.Max))
		} else if d.Initial < d.Min || d.Initial > d.Max {
			bad("initial", d.Initial, fmt.Sprintf("must be between min, %d, and max, %d", d.Min, d.Max))
		}
	}
	return errors.Join(errs...)
}

// fieldError is one thing that is wrong with a config.
type fieldError struct{ config, field, value, rule string }

func wrong(config, field string, value any, rule string) error {
	return &fieldError{config, field, fmt.Sprint(value), rule}
}

func (e *fieldError) Error() string {
	return fmt.Sprintf("pid: %s %s is %s: %s", e.config, e.field, e.value, e.rule)
}

// Wrong tells it in parts, for those who know where the config was written.
func (e *fieldError) Wrong() (field, value, rule string) { return e.field, e.value, e.rule }

// NewLimit returns the law that cfg asks for. The error is that of
// cfg.Validate.
func NewLimit(cfg LimitConfig) (Limit, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Fixed > 0 {
		return fixed(cfg.Fixed), nil
	}
	return newTunable(cfg)
}

// Retune returns the law that cfg asks for in place of l. The same law goes on
// with new bounds and keeps what it has learned; another one starts from where
// l stood. Without l it is NewLimit. The error is that of cfg.Validate; l is
// then as it was.
func Retune(l Limit, cfg LimitConfig) (Limit, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if l == nil || cfg.Fixed > 0 {
		return NewLimit(cfg)
	}
	if t, ok := l.(tunable); ok && t.config().Law == cfg.WithDefaults().Law {
		return t, t.setConfig(cfg)
	}
	next, err := newTunable(cfg)
	if err == nil {
		next.startAt(l.Limit())
	}
	return next, err
}

// fixed is a limit that stays where it is.
type fixed int

func (f fixed) Limit() int              { return int(f) }
func (fixed) Observe(Sample)            {}
func (fixed) Tick(time.Duration, Usage) {}
func (fixed) State() LimitState         { return LimitState{Why: "pinned"} }
