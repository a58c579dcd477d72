package pid_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/spillway-go/spillway/pid"
)

func ExampleNewLimit() {
	limit, err := pid.NewLimit(pid.LimitConfig{Min: 2, Max: 200})
	if err != nil {
		fmt.Println(err)
		return
	}
	// The owner shows it what came out, and ticks it.
	var used pid.Usage
	for now := time.Duration(0); now <= 300*time.Millisecond; now += pid.TickPeriod {
		for range 5 {
			limit.Observe(pid.Sample{Service: 10 * time.Millisecond, Inflight: 8})
		}
		limit.Tick(now, used)
		used.Area += 8 * pid.TickPeriod.Seconds() // all slots are taken
		used.Blocked++
	}
	fmt.Println(limit.Limit())
	// Output: 10
}

func TestLimitConfigValidate(t *testing.T) {
	const lawRule = "must be one of octave, aimd, gradient2, vegas"
	for name, tc := range map[string]struct {
		cfg  pid.LimitConfig
		want string // all lines; "" when valid
	}{
		"zero":                    {pid.LimitConfig{}, ""},
		"pinned":                  {pid.LimitConfig{Fixed: 50}, ""},
		"all given":               {pid.LimitConfig{Initial: 20, Min: 4, Max: 100, Law: "octave"}, ""},
		"another law":             {pid.LimitConfig{Law: "vegas"}, ""},
		"one value":               {pid.LimitConfig{Initial: 5, Min: 5, Max: 5}, ""},
		"max below default start": {pid.LimitConfig{Max: 4}, ""},
		"min above default start": {pid.LimitConfig{Min: 100}, ""},
		"min above default max":   {pid.LimitConfig{Min: 5000}, ""},
		"largest":                 {pid.LimitConfig{Max: 1_000_000}, ""},
		"all at once": {
			pid.LimitConfig{Fixed: -1, Initial: -2, Min: 1_000_001, Max: -3, Law: "magic"},
			"pid: limit fixed is -1: must be between 0 and 1000000\n" +
				"pid: limit initial is -2: must be between 0 and 1000000\n" +
				"pid: limit min is 1000001: must be between 0 and 1000000\n" +
				"pid: limit max is -3: must be between 0 and 1000000\n" +
				`pid: limit law is "magic": ` + lawRule,
		},
		"case of the law":     {pid.LimitConfig{Law: "Octave"}, `pid: limit law is "Octave": ` + lawRule},
		"pinned and bounded":  {pid.LimitConfig{Fixed: 5, Max: 9}, "pid: limit fixed is 5: a pinned limit takes no initial, min, max or law"},
		"pinned with law":     {pid.LimitConfig{Fixed: 5, Law: "octave"}, "pid: limit fixed is 5: a pinned limit takes no initial, min, max or law"},
		"min above max":       {pid.LimitConfig{Min: 9, Max: 5}, "pid: limit min is 9: must be at most max, 5"},
		"initial above max":   {pid.LimitConfig{Initial: 9, Max: 5}, "pid: limit initial is 9: must be between min, 1, and max, 5"},
		"initial below min":   {pid.LimitConfig{Initial: 2, Min: 3}, "pid: limit initial is 2: must be between min, 3, and max, 4000"},
		"initial over 4,000":  {pid.LimitConfig{Initial: 5000}, "pid: limit initial is 5000: must be between min, 1, and max, 4000"},
		"pinned beyond bound": {pid.LimitConfig{Fixed: 2_000_000}, "pid: limit fixed is 2000000: must be between 0 and 1000000"},
	} {
		t.Run(name, func(t *testing.T) {
			limit, errNew := pid.NewLimit(tc.cfg)
			_, errTune := pid.Retune(nil, tc.cfg)
			for _, err := range []error{tc.cfg.Validate(), errNew, errTune} {
				got := ""
				if err != nil {
					got = err.Error()
				}
				if got != tc.want {
					t.Errorf("got  %q\nwant %q", got, tc.want)
				}
			}
			if (errNew == nil) != (limit != nil) {
				t.Errorf("law %v together with error %v", limit, errNew)
			}
		})
	}
}

func TestLimitConfigDefaults(t *testing.T) {
	for _, tc := range []struct{ give, want pid.LimitConfig }{
		{pid.LimitConfig{}, pid.LimitConfig{Initial: 8, Min: 1, Max: 4000, Law: "octave"}},
		{pid.LimitConfig{Max: 4}, pid.LimitConfig{Initial: 4, Min: 1, Max: 4, Law: "octave"}},
		{pid.LimitConfig{Min: 5000}, pid.LimitConfig{Initial: 5000, Min: 5000, Max: 5000, Law: "octave"}},
		{pid.LimitConfig{Law: "vegas"}, pid.LimitConfig{Initial: 20, Min: 1, Max: 4000, Law: "vegas"}},
		{pid.LimitConfig{Law: "aimd", Max: 9}, pid.LimitConfig{Initial: 9, Min: 1, Max: 9, Law: "aimd"}},
		{pid.LimitConfig{Fixed: 3}, pid.LimitConfig{Fixed: 3}},
	} {
		if got := tc.give.WithDefaults(); got != tc.want {
			t.Errorf("%+v becomes %+v, want %+v", tc.give, got, tc.want)
		}
		law, err := pid.NewLimit(tc.give)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := law.Limit(), max(tc.want.Initial, tc.want.Fixed); got != want {
			t.Errorf("%+v starts at %d, want %d", tc.give, got, want)
		}
	}
}

func TestPinnedLimitStays(t *testing.T) {
	l := newLane(t, pid.LimitConfig{Fixed: 7})
	l.runAs(time.Minute, servers(2, time.Second))
	l.run(time.Minute, flow{overload: 100, busy: 7, blocked: true})
	l.limitIs("pinned", 7, 7)
}

// A config that changes while the law runs is no reason to forget.
func TestRetuneKeepsWhatWasLearned(t *testing.T) {
	retune := func(l *lane, cfg pid.LimitConfig) {
		t.Helper()
		law, err := pid.Retune(l.law, cfg)
		if err != nil {
			t.Fatal(err)
		}
		l.law = law
	}
	l := newLane(t, pid.LimitConfig{})
	l.runAs(time.Minute, servers(50, 100*time.Millisecond))
	l.limitIs("found 50 servers", 50, 80)
	was, baseline := l.law.Limit(), l.state().Baseline

	retune(l, pid.LimitConfig{Max: 500})
	l.limitIs("another ceiling", was, was)
	if got := l.state().Baseline; got != baseline {
		t.Errorf("baseline went from %v to %v with the ceiling", baseline, got)
	}
	retune(l, pid.LimitConfig{Max: 20})
	l.limitIs("a ceiling below", 20, 20)
	l.runAs(time.Minute, servers(50, 100*time.Millisecond))
	l.limitIs("held by the ceiling", 10, 20)
	retune(l, pid.LimitConfig{Min: 30})
	l.limitIs("a floor above", 30, 30)

	before := *l
	if _, err := pid.Retune(l.law, pid.LimitConfig{Min: 9, Max: 5}); err == nil || l.law != before.law {
		t.Errorf("a bad config: error %v", err)
	}
	l.limitIs("after a bad config", 30, 30)

	retune(l, pid.LimitConfig{Fixed: 40})
	l.limitIs("pinned", 40, 40)
	retune(l, pid.LimitConfig{})
	l.limitIs("tuned again", 40, 40)
	// The limit was never used to the full since: headroom lets it go.
	l.run(90*time.Second, flow{rate: 100, service: 10 * time.Millisecond, busy: 1})
	l.limitIs("after 90 s of little use", 8, 8)
}

// From one law to another the limit stays where it was, within the bounds.
func TestRetuneToAnotherLaw(t *testing.T) {
	for _, from := range laws {
		for _, to := range laws {
			l := newLane(t, pid.LimitConfig{Law: from.name})
			l.run(20*time.Second, flow{rate: 100, service: 10 * time.Millisecond, busy: 8, blocked: true})
			was, baseline := l.law.Limit(), l.state().Baseline
			for _, cfg := range []pid.LimitConfig{
				{Law: to.name},
				{Law: to.name, Max: 1000},
				{Law: to.name, Max: 6},
				{Law: to.name, Min: 50},
			} {
				law, err := pid.Retune(l.law, cfg)
				if err != nil {
					t.Fatal(err)
				}
				l.law = law
				want := min(max(was, cfg.Min), cfg.WithDefaults().Max)
				l.limitIs(from.name+" to "+to.name, want, want)
				if got := l.state().Why; from.name != to.name && cfg.Max == 0 && cfg.Min == 0 && got != "start" {
					t.Errorf("%s to %s: %q is of the old law", from.name, to.name, got)
				}
				if got := l.state().Baseline; from.name == to.name && got != baseline {
					t.Errorf("%s: baseline went from %v to %v with %+v", from.name, baseline, got, cfg)
				}
				was = want
			}
		}
	}
}
