package codel

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// The laws of the allowance, values of [Config.Law].
const (
	LawDeadline = "deadline"
	LawTight    = "tight"
	LawCoDel    = "codel"
)

// DefaultCapacity is the capacity of a queue whose Config leaves it zero.
const DefaultCapacity = 50

const (
	defaultTarget   = 5 * time.Millisecond
	defaultInterval = 100 * time.Millisecond
)

// Config says how many may wait and for how long. The zero Config is valid.
type Config struct {
	// Capacity is the most waiters; zero means [DefaultCapacity]. More hides
	// bursts and costs memory; the wait itself is bounded by the allowance.
	Capacity int `json:"capacity"`

	// Law is the law of the allowance: [LawDeadline] (the default, also when
	// empty), [LawTight] or [LawCoDel].
	Law string `json:"law"`

	// Target is the allowance under a standing queue, below Interval. Zero: 5 ms. It
	// belongs to law "codel" and must be zero under any other.
	Target time.Duration `json:"target,omitempty"`
	// Interval is the allowance when calm, and how long the queue must be non-empty
	// to count as standing. Zero: 100 ms. It belongs to law "codel" and must be zero
	// under any other.
	Interval time.Duration `json:"interval,omitempty"`
}

// Validate returns nil, or all problems at once, joined, each naming the field,
// its value and the rule.
func (c Config) Validate() error {
	var errs []error
	bad := func(field string, value any, format string, args ...any) {
		errs = append(errs, &fieldError{field, fmt.Sprint(value), fmt.Sprintf(format, args...)})
	}
	d := c.WithDefaults()
	if c.Capacity < 0 {
		bad("capacity", c.Capacity, "must not be negative")
	}
	ofDeadline := d.Law == LawDeadline || d.Law == LawTight
	if !ofDeadline && d.Law != LawCoDel {
		bad("law", fmt.Sprintf("%q", c.Law), "must be one of %s, %s, %s", LawDeadline, LawTight, LawCoDel)
	}
	for _, f := range []struct {
		name  string
		value time.Duration
	}{{"target", c.Target}, {"interval", c.Interval}} {
		if f.value < 0 {
			bad(f.name, f.value, "must not be negative")
		} else if ofDeadline && f.value > 0 {
			bad(f.name, f.value, "must be left out under law %s", d.Law)
		}
	}
	if d.Law == LawCoDel && c.Target >= 0 && c.Interval >= 0 && d.Target >= d.Interval {
		bad("target", d.Target, "must be below interval, %v", d.Interval)
	}
	return errors.Join(errs...)
}

// fieldError is one thing that is wrong with a Config.
type fieldError struct{ field, value, rule string }

func (e *fieldError) Error() string {
	return fmt.Sprintf("codel: %s is %s: %s", e.field, e.value, e.rule)
}

// Wrong tells it in parts, for those who know where the config was written.
func (e *fieldError) Wrong() (field, value, rule string) { return e.field, e.value, e.rule }

// WithDefaults returns c with its zero fields filled in, as a queue uses it.
func (c Config) WithDefaults() Config {
	if c.Capacity == 0 {
		c.Capacity = DefaultCapacity
	}
	if c.Law == "" {
		c.Law = LawDeadline
	}
	if c.Law == LawCoDel {
		if c.Target == 0 {
			c.Target = defaultTarget
		}
		if c.Interval == 0 {
			c.Interval = defaultInterval
		}
	}
	return c
}

// Allow is the law of the allowance: how long a request that has remaining left
// of its deadline may wait. It is base x (0.8 + 0.4u), where base is a third of
// remaining under law "deadline", a third or, when the queue is standing, a
// tenth of it under law "tight", and Interval or, when standing, Target under
// law "codel". u, in [0, 1), is drawn by the caller; what lies outside counts
// as the nearer end, NaN as 0.
//
// Law "codel" takes remaining <= 0 for "no deadline is known"; otherwise the
// result is never more than remaining. The other laws then allow nothing.
//
// REQUIRES: c.Validate() == nil.
func (c Config) Allow(remaining time.Duration, standing bool, u float64) time.Duration {
	c = c.WithDefaults()
	switch {
	case c.Law == LawTight && standing:
		return spread(max(remaining, 0)/10, u)
	case c.Law != LawCoDel:
		return spread(max(remaining, 0)/3, u)
	case standing:
		return within(spread(c.Target, u), remaining)
	default:
		return within(spread(c.Interval, u), remaining)
	}
}

// spread returns base x (0.8 + 0.4u).
func spread(base time.Duration, u float64) time.Duration {
	switch {
	case !(u > 0): // NaN too
		u = 0
	case u > 1:
		u = 1
	}
	d := float64(base) * (0.8 + 0.4*u)
	if d >= math.MaxInt64 { // converting it would wrap
		return math.MaxInt64
	}
	return time.Duration(d)
}

// within returns d, or remaining if that is known and less.
func within(d, remaining time.Duration) time.Duration {
	if remaining > 0 {
		return min(d, remaining)
	}
	return d
}
