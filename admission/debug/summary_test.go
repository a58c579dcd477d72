package debug

import (
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/admission"
)

// lead is the first sentence about a controller.
func lead(t *testing.T, ctrl *admission.Controller) string {
	t.Helper()
	w := get(t, Handler(ctrl), "")
	wantStrict(t, w.Body.String(), w.Header().Get("Content-Security-Policy"))
	return gather(ctrl, nil).Summary[0].Text
}

func TestLeadOfWhatSimplyIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var none *admission.Controller
		off := newController(t, admission.Config{Mode: admission.Off})
		idle := newController(t, admission.Config{})
		shut := newController(t, admission.Config{})
		if err := shut.Close(); err != nil {
			t.Fatal(err)
		}
		for _, tc := range []struct {
			name string
			ctrl *admission.Controller
			want string
		}{
			{"none", none, "Mode is off: every request runs, and nothing is counted."},
			{"off", off, "Mode is off: every request runs, and nothing is counted."},
			{"idle", idle, "Nothing is shed: no requests come."},
			{"closed", shut, "The controller is closed: every request is refused."},
		} {
			if got := lead(t, tc.ctrl); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
			}
		}
	})
}

func TestLeadOfOverload(t *testing.T) {
	inOverload(t, func(t *testing.T, ctrl *admission.Controller) {
		if got, want := lead(t, ctrl), "Shedding part of t3 and all below in lane write: signal lag at 0.81 of setpoint 0.8."; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		cfg := ctrl.Config()
		cfg.Mode = admission.Shadow
		if err := ctrl.Apply(cfg); err != nil {
			t.Fatal(err)
		}
		drive(ctrl, 12*time.Second)
		if got := lead(t, ctrl); !strings.HasPrefix(got, "Mode shadow would shed ") {
			t.Errorf("in shadow: %q", got)
		}
		cfg.Regulators, cfg.Scorecard.Rules, cfg.Mode = nil, nil, admission.Enforce
		if err := ctrl.Apply(cfg); err != nil {
			t.Fatal(err)
		}
		drive(ctrl, 15*time.Second)
		if got := lead(t, ctrl); !strings.HasPrefix(got, "Nothing is shed of 10") {
			t.Errorf("when it is over: %q", got)
		}
	})
}

// judged is the whole summary of a report, one sentence a line.
func judged(r report) string {
	r.judge()
	var lines []string
	for _, s := range r.Summary {
		lines = append(lines, s.Level+" "+s.Text)
	}
	return strings.Join(lines, "\n")
}

func laneThat(change func(l *laneReport)) []laneReport {
	l := laneReport{Name: "read", Limit: 24, Inflight: 24, Queued: 9, MedianS: 0.04, BaselineS: 0.02}
	for t := range admission.Tier(admission.NumTiers) {
		l.Tiers = append(l.Tiers, tierReport{Tier: t.String(), OfferedPerS: 10})
	}
	change(&l)
	return []laneReport{l}
}

func because(why admission.Reason) func(l *laneReport) {
	return func(l *laneReport) {
		l.Reasons = []reasonReport{{why: why, Reason: why.String(), PerS: 12, Total: 120}}
	}
}

func TestSummary(t *testing.T) {
	gated := func(p admission.Priority) func(l *laneReport) {
		return func(l *laneReport) {
			l.ShedRatio, l.Threshold, l.Binding, l.ArrivalsPerS, l.ThroughputPerS = 0.4, p, "queue", 620, 352
		}
	}
	for _, tc := range []struct {
		name string
		r    report
		want string
	}{
		{"a whole tier", report{Lanes: laneThat(gated(admission.NewPriority(admission.T4, 0)))}, "shed Shedding t4 and below in lane read: the queue binds, 620 requests/s come and about 352 fit."},
		{"the last tier in part", report{Lanes: laneThat(gated(admission.NewPriority(admission.T5, 64)))}, "shed Shedding part of t5 in lane read: the queue binds, 620 requests/s come and about 352 fit."},
		{"nothing below comes", report{Lanes: laneThat(func(l *laneReport) {
			gated(admission.NewPriority(admission.T3, 0))(l)
			l.Tiers[4].OfferedPerS, l.Tiers[5].OfferedPerS = 0, 0
		})}, "shed Shedding t3 in lane read: the queue binds, 620 requests/s come and about 352 fit."},
		{"capacity unknown", report{Lanes: laneThat(func(l *laneReport) {
			gated(admission.NewPriority(admission.T5, 0))(l)
			l.ThroughputPerS = 0
		})}, "shed Shedding t5 in lane read: the queue binds, no slot comes free in time (24 of 24 taken, 9 wait)."},
		{"held signal", report{
			Lanes:   laneThat(func(l *laneReport) { gated(admission.T5.Priority())(l); l.Binding = "lag" }),
			Signals: []signalReport{{Name: "lag", Setpoint: 0.8, Pressure: 1.4, AgeS: 12, Stale: true, Error: "connection refused"}},
		}, "shed Shedding t5 in lane read: signal lag at 1.4 of setpoint 0.8, held since the last reading 12s ago.\nwarn Signal lag has no reading: the last one is 12s old; connection refused."},
		{"deadline", report{Lanes: laneThat(because(admission.ReasonDeadline))}, "shed Shedding 12 requests/s in lane read: callers bring less time than a request takes, 40ms in the median."},
		{"cap", report{Lanes: laneThat(because(admission.ReasonTenantCap)), Rules: []ruleReport{{Rule: "trial", Shadowed: 99}, {Rule: "each", Refused: 9}}, Tenants: []tenantReport{{Rule: "trial", Value: "other", Refused: 99}, {Rule: "each", Value: "acme", Refused: 9}}}, "shed Shedding 12 requests/s in lane read: a cap of the scorecard is reached; most refused so far: acme, by rule \"each\"."},
		{"guard", report{
			Lanes: laneThat(because(admission.ReasonRegulator)),
			Sheds: []shedReport{{Lane: "write", Reason: "regulator", Stage: "rate"}, {Lane: "read", Reason: "regulator", Stage: "bytes"}},
		}, "shed Shedding 12 requests/s in lane read: a guard's bound is reached (bytes)."},
		{"no slot", report{Lanes: laneThat(because(admission.ReasonQueueTimeout))}, "shed Shedding 12 requests/s in lane read: no slot comes free in time (24 of 24 taken, 9 wait)."},
		{"just over", report{Lanes: laneThat(func(l *laneReport) {
			l.Inflight, l.Queued = 3, 0
			for _, why := range []admission.Reason{admission.ReasonPriority, admission.ReasonEvicted} {
				l.Reasons = append(l.Reasons, reasonReport{why: why, Reason: why.String(), PerS: 12})
			}
		})}, "shed Shedding in lane read has just ended: 24 requests/s in the last 10s."},
		{"the gate is over, the rest is not", report{Lanes: laneThat(func(l *laneReport) {
			for _, why := range []admission.Reason{admission.ReasonPriority, admission.ReasonEvicted} {
				l.Reasons = append(l.Reasons, reasonReport{why: why, Reason: why.String(), PerS: 12})
			}
		})}, "shed Shedding 12 requests/s in lane read: no slot comes free in time (24 of 24 taken, 9 wait)."},
		{"no slot, but the gate says it", report{Lanes: laneThat(func(l *laneReport) { because(admission.ReasonEvicted)(l); gated(admission.T5.Priority())(l) })}, "shed Shedding t5 in lane read: the queue binds, 620 requests/s come and about 352 fit."},
		{"removed lane", report{Lanes: laneThat(because(admission.ReasonClosed))}, "shed Shedding 12 requests/s in lane read: the config has removed it."},
		{"resting", report{Lanes: laneThat(func(l *laneReport) { l.Resting = true })}, "ok Nothing is shed of 60 requests/s.\nwarn Lane read grants nothing for a moment: all failed at its lowest limit."},
		{"lane in shadow", report{Lanes: laneThat(func(l *laneReport) { because(admission.ReasonTenantCap)(l); l.Mode = admission.Shadow })}, "shed Mode shadow would shed 12 requests/s in lane read: a cap of the scorecard is reached.\nwarn Lane read is in mode shadow."},
		{"never read", report{Keyed: []keyedReport{{Name: "bytes", Stale: true}}}, "ok Nothing is shed: no requests come.\nwarn Keyed signal bytes has no reading: it has had none so far."},
		{"guard panics", report{Guards: []guardReport{{Name: "mine", Error: "panic: nil map"}}}, "ok Nothing is shed: no requests come.\nwarn Guard mine panics: panic: nil map."},
		{"shadow", report{Mode: admission.Shadow}, "ok Nothing is shed: no requests come.\nwarn Mode is shadow: what would be shed is counted and runs all the same."},
		{"config", report{Config: configReport{Error: "mode is wrong\nlanes too", Applied: time.Unix(0, 0)}}, "ok Nothing is shed: no requests come.\nwarn The last change of the config was refused, that of 1970-01-01T00:00:00Z stays: mode is wrong; lanes too"},
	} {
		if got := judged(tc.r); got != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", tc.name, got, tc.want)
		}
	}
}

// Those in the first place are who shed most now.
func TestWorstLaneLeads(t *testing.T) {
	calm, bad := laneThat(because(admission.ReasonLimit))[0], laneThat(because(admission.ReasonLimit))[0]
	calm.Name, bad.Name, bad.Reasons[0].PerS = "a", "b", 500
	if got := judged(report{Lanes: []laneReport{calm, bad}}); !strings.HasPrefix(got, "shed Shedding 500 requests/s in lane b") {
		t.Error(got)
	}
}

func TestAdviceOfAPinnedLimit(t *testing.T) {
	r := report{Lanes: laneThat(because(admission.ReasonQueueTimeout))}
	r.Lanes[0].LatencyS = 0.09
	r.Config.Settings = []setting{{Field: "lanes.read.limit.fixed", Value: "24"}}
	r.judge()
	for _, want := range []string{"lanes.read.limit.fixed, 24", "Requests take 90ms, 20ms when idle"} {
		if got := r.Summary[0].Advice; !strings.Contains(got, want) {
			t.Errorf("the advice %q lacks %q", got, want)
		}
	}
}

func TestSettingsTellWhatDiffers(t *testing.T) {
	ctrl := newController(t, admission.Config{
		Lanes:      map[string]admission.LaneConfig{"read": {Deadline: 2 * time.Second}},
		Priorities: admission.PriorityConfig{Callers: map[string]admission.Priority{"batch-*": admission.T5.Priority()}},
		Regulators: map[string]admission.RegulatorConfig{"goroutines": {Kind: "goroutines", Limit: 1000}},
	})
	ctrl.RefuseConfig(errors.New("no"))
	want := map[string]setting{
		"mode":                       {Value: "enforce", Default: "enforce"},
		"lanes.read.deadline":        {Value: "2s", Changed: true},
		"lanes.read.limit.law":       {Value: "octave", Default: "octave"},
		"priorities.callers.batch-*": {Value: "t5", Changed: true},
		"priorities.default":         {Value: "t3", Default: "t3"},
		"regulators.goroutines.kind": {Value: "goroutines", Changed: true},
		"regulators.goroutines.limit": {
			Value: "1000", Changed: true,
		},
		"regulators.goroutines.period": {Value: "500ms", Default: "500ms"},
	}
	for _, got := range settings(ctrl.Config(), nil) {
		if w, ok := want[got.Field]; ok {
			w.Field = got.Field
			if got != w {
				t.Errorf("%+v, want %+v", got, w)
			}
			delete(want, got.Field)
		} else if got.Changed {
			t.Errorf("%+v was not changed", got)
		}
	}
	for field := range want {
		t.Errorf("%s is not told", field)
	}
}

func TestChartBreaksWhereNothingIsKnown(t *testing.T) {
	end := time.Unix(1000, 0)
	at := func(age time.Duration) time.Time { return end.Add(-age) }
	times := []time.Time{at(70 * time.Second), at(69 * time.Second), at(30 * time.Second), at(29 * time.Second)}
	c := draw("t", end, times, 1, series{"shed", "shed", number, []float64{4, 2, 0, 1}, true})
	if want := "M250 0L250 0L255 60L255 120L250 120ZM450 120L450 120L455 90L455 120L450 120Z"; c.Lines[0].Path != want {
		t.Errorf("path is %s, want %s", c.Lines[0].Path, want)
	}
	if c.Top != "4" || c.Span != "2 min" || c.Lines[0].Now != "1" {
		t.Errorf("the chart is %+v", c)
	}
	if empty := draw("t", end, nil, 1, series{"shed", "shed", number, nil, false}); empty.Lines[0].Path != "" || empty.Lines[0].Now != "none" {
		t.Errorf("an empty chart is %+v", empty)
	}
}

func TestFigures(t *testing.T) {
	for got, want := range map[string]string{
		number(math.Copysign(0, -1)): "0", number(0.01234): "0.0123", number(12.345): "12.3", number(123456.7): "123457",
		seconds(0): "0s", seconds(0.0532): "53.2ms", seconds(1.23456): "1.23s", seconds(12.3456): "12.3s", percent(0.5841): "58.4 %",
		printable("a\x1b[31m\n"): `a\x1b[31m\n`, printable("münchen"): "münchen",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
