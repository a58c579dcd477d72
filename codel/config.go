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
	Capacity int

	// Law is the law of the allowance: [LawDeadline] (the default, also when
	// empty), [LawTight] or [LawCoDel].
	Law string

	// Target and Interval belong to law "codel" and must be zero under any
	// other. Interval is the allowance when calm, and how long the queue must
	// be non-empty to count as standing; Target is the allowance then. Zero
	// means 5 ms and 100 ms; Target must be below Interval.
	Target, Interval time.Duration
}

// Validate returns nil, or all problems at once, joined, each naming the field,
// its value and the rule.
func (c Config) Validate() error {
	var errs []error
	report := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("codel: "+format, args...))
	}
	d := c.WithDefaults()
	if c.Capacity < 0 {
		report("Capacity is %d, must not be negative", c.Capacity)
	}
	ofDeadline := d.Law == LawDeadline || d.Law == LawTight
	if !ofDeadline && d.Law != LawCoDel {
		report("Law is %q, must be %q, %q or %q", c.Law, LawDeadline, LawTight, LawCoDel)
	}
	if c.Target < 0 {
		report("Target is %v, must not be negative", c.Target)
	}
	if c.Interval < 0 {
		report("Interval is %v, must not be negative", c.Interval)
	}
	if ofDeadline && c.Target > 0 {
		report("Target is %v, must be left out under law %q", c.Target, d.Law)
	}
	if ofDeadline && c.Interval > 0 {
		report("Interval is %v, must be left out under law %q", c.Interval, d.Law)
	}
	if d.Law == LawCoDel && c.Target >= 0 && c.Interval >= 0 && d.Target >= d.Interval {
		report("Target is %v, must be below Interval, which is %v", d.Target, d.Interval)
	}
	return errors.Join(errs...)
}

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
