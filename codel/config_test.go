package codel

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

const ms = time.Millisecond

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  Config
		want []string // all messages, in order
	}{
		{"zero", Config{}, nil},
		{"deadline", Config{Capacity: 10, Law: "deadline"}, nil},
		{"tight", Config{Capacity: 10, Law: "tight"}, nil},
		{"codel", Config{Law: "codel"}, nil},
		{"codel with both", Config{Law: "codel", Target: ms, Interval: 2 * ms}, nil},
		{"capacity", Config{Capacity: -1}, []string{"codel: capacity is -1: must not be negative"}},
		{"law", Config{Law: "lifo"}, []string{`codel: law is "lifo": must be one of deadline, tight, codel`}},
		{"pair without its law", Config{Target: ms, Interval: 9 * ms}, []string{
			`codel: target is 1ms: must be left out under law deadline`,
			`codel: interval is 9ms: must be left out under law deadline`,
		}},
		{"pair with the tight law", Config{Law: "tight", Target: ms}, []string{
			`codel: target is 1ms: must be left out under law tight`,
		}},
		{"equal", Config{Law: "codel", Target: ms, Interval: ms}, []string{
			"codel: target is 1ms: must be below interval, 1ms",
		}},
		{"above the default", Config{Law: "codel", Target: 200 * ms}, []string{
			"codel: target is 200ms: must be below interval, 100ms",
		}},
		{"below the default", Config{Law: "codel", Interval: 4 * ms}, []string{
			"codel: target is 5ms: must be below interval, 4ms",
		}},
		{"everything", Config{Capacity: -5, Law: "x", Target: -1, Interval: -2}, []string{
			"codel: capacity is -5: must not be negative",
			`codel: law is "x": must be one of deadline, tight, codel`,
			"codel: target is -1ns: must not be negative",
			"codel: interval is -2ns: must not be negative",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			if err := c.cfg.Validate(); err != nil {
				got = strings.Split(err.Error(), "\n")
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			if got == nil && c.cfg.WithDefaults().Validate() != nil {
				t.Errorf("valid, but not with its defaults: %v", c.cfg.WithDefaults().Validate())
			}
		})
	}
}

func TestWithDefaults(t *testing.T) {
	for _, c := range []struct{ cfg, want Config }{
		{Config{}, Config{Capacity: 50, Law: LawDeadline}},
		{Config{Law: LawTight}, Config{Capacity: 50, Law: LawTight}},
		{Config{Law: LawCoDel}, Config{Capacity: 50, Law: LawCoDel, Target: 5 * ms, Interval: 100 * ms}},
		{Config{7, LawCoDel, 1, 2}, Config{7, LawCoDel, 1, 2}},
	} {
		if got := c.cfg.WithDefaults(); got != c.want {
			t.Errorf("%+v: got %+v, want %+v", c.cfg, got, c.want)
		}
	}
}

func TestAllow(t *testing.T) {
	const forever = time.Duration(math.MaxInt64)
	deadline, tight, pair := Config{}, Config{Law: LawTight}, Config{Law: LawCoDel}
	long := Config{Law: LawCoDel, Interval: forever}
	for _, c := range []struct {
		name      string
		cfg       Config
		remaining time.Duration
		standing  bool
		u         float64
		want      time.Duration
	}{
		{"a third", deadline, 300 * ms, false, 0.5, 100 * ms},
		{"a third, standing", deadline, 300 * ms, true, 0.5, 100 * ms},
		{"lowest", deadline, 300 * ms, false, 0, 80 * ms},
		{"highest", deadline, 300 * ms, false, 1, 120 * ms},
		{"none left", deadline, 0, false, 0.5, 0},
		{"overdue", deadline, -ms, false, 0.5, 0},
		{"tight, calm", tight, 300 * ms, false, 0.5, 100 * ms},
		{"tight, standing", tight, 300 * ms, true, 0.5, 30 * ms},
		{"tight, overdue", tight, -ms, true, 0.5, 0},
		{"interval", pair, time.Second, false, 0.5, 100 * ms},
		{"target", pair, time.Second, true, 0.5, 5 * ms},
		{"no deadline", pair, 0, false, 0.5, 100 * ms},
		{"within the deadline", pair, 30 * ms, false, 0.5, 30 * ms},
		{"target within the deadline", pair, ms, true, 0.5, ms},
		{"u too low", deadline, 300 * ms, false, -7, 80 * ms},
		{"u too high", deadline, 300 * ms, false, math.Inf(1), 120 * ms},
		{"u NaN", deadline, 300 * ms, false, math.NaN(), 80 * ms},
		{"no wrap", long, 0, false, 1, forever},
	} {
		if got := c.cfg.Allow(c.remaining, c.standing, c.u); got != c.want {
			t.Errorf("%s: Allow(%v, %v, %v) = %v, want %v", c.name, c.remaining, c.standing, c.u, got, c.want)
		}
	}
}
