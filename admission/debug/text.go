package debug

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spillway-go/spillway/admission"
)

// writeText writes the report for a terminal.
func (r *report) writeText(w io.Writer) error {
	t := &textWriter{tabs: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	t.line("%s  mode %v%s", clock(r.At), r.Mode, map[bool]string{true: ", closed"}[r.Closed])
	for _, s := range r.Summary {
		t.line("%s: %s", strings.ToUpper(s.Level), s.Text)
		if s.Advice != "" {
			t.line("  %s", s.Advice)
		}
	}
	for i := range r.Lanes {
		t.lane(&r.Lanes[i])
	}
	t.explain(r.Explain)
	t.regulators(r)
	t.scorecard(r)
	t.sheds(r.Sheds)
	t.config(&r.Config)
	return t.tabs.Flush()
}

// textWriter keeps the tables' columns in line; what it writes comes from a tabwriter,
// whose Flush reports the first error.
type textWriter struct{ tabs *tabwriter.Writer }

// line writes one, its texts made harmless for the table's columns too.
func (t *textWriter) line(format string, args ...any) {
	for i, arg := range args {
		if s, ok := arg.(string); ok {
			args[i] = printable(s)
		}
	}
	fmt.Fprintf(t.tabs, format+"\n", args...)
}

func (t *textWriter) heading(format string, args ...any) {
	t.line("")
	t.line(format, args...)
}

func clock(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05Z") }

func (t *textWriter) lane(l *laneReport) {
	used := l.usedTiers()
	if len(used) == 0 {
		t.heading("LANE %s has had no requests so far; it has %d slots", l.Name, l.Limit)
		return
	}
	state := ""
	if l.Mode != admission.Enforce {
		state = " in mode " + l.Mode.String()
	}
	t.heading("LANE %s%s", l.Name, state)
	state = ""
	if l.Probing {
		state = " (probing)"
	}
	if l.Resting {
		state = " (resting)"
	}
	t.line("  slots\t%d of %d taken, peak %d, overrun %d%s; limit: %s", l.Inflight, l.Limit, l.Peak, l.Overrun, state, l.LimitWhy)
	t.line("  queue\t%d of %d, %s, oldest %s, pressure %s", l.Queued, l.QueueCapacity, l.QueueMode, seconds(l.OldestWaiterS), number(l.Pressure))
	binding := ""
	if l.Binding != "" {
		binding = fmt.Sprintf(" from %v, asked for by %s", l.Threshold, l.Binding)
	}
	t.line("  gate\tsheds %s%s", percent(l.ShedRatio), binding)
	t.line("  rate\t%s/s come to the gate, %s/s fit; demand %s of what it can do", number(l.ArrivalsPerS), number(l.ThroughputPerS), number(l.Demand))
	t.line("  time\tmedian %s, idle %s; since the start: service p50 %s p99 %s, wait p50 %s p99 %s",
		seconds(l.MedianS), seconds(l.BaselineS), seconds(l.ServiceP50S), seconds(l.ServiceP99S), seconds(l.WaitP50S), seconds(l.WaitP99S))
	t.line("  TIER\tOFFERED/S\tADMITTED/S\tSHED/S\tQUEUED\tADMITTED\tSHED\tWOULD SHED\tLEFT")
	for _, tier := range used {
		t.line("  %s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d", tier.Tier, number(tier.OfferedPerS), number(tier.AdmittedPerS),
			number(tier.ShedPerS), tier.Queued, tier.Admitted, tier.Shed, tier.WouldShed, tier.Left)
	}
	if len(l.Reasons) > 0 {
		t.line("  REASON\tSHED/S\tSHED\tMEANING")
		for _, reason := range l.Reasons {
			t.line("  %s\t%s\t%d\t%s", reason.Reason, number(reason.PerS), reason.Total, meaning[reason.why])
		}
	}
}

func (t *textWriter) explain(x *explainReport) {
	if x == nil {
		return
	}
	certain := ""
	if !x.Certain {
		certain = ", unless what was not asked, or chance, says otherwise"
	}
	t.heading("EXPLAIN: a request in lane %s of priority %v and cost %d would %s%s", x.Lane, x.Priority, x.Cost, would(x.Verdict), certain)
	for _, s := range x.Steps {
		t.line("  %s\t%v\t%s", s.Stage, s.Verdict, s.Why)
	}
}

func (t *textWriter) regulators(r *report) {
	if len(r.Signals) > 0 {
		t.heading("SIGNAL\tPRESSURE\tSETPOINT\tRATIO\tP\tI\tD\tAGE\tMISSES\tERROR")
		for _, s := range r.Signals {
			t.line("%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s", shadowed(s.Name, s.Shadow), number(s.Pressure), number(s.Setpoint), percent(s.Ratio),
				number(s.P), number(s.I), number(s.D), age(s.AgeS, s.Stale), s.Misses, s.Error)
		}
	}
	if len(r.Keyed) > 0 {
		t.heading("KEYED SIGNAL\tBY\tSETPOINT\tPRESSED\tSHED\tAGE\tMISSES\tERROR")
		for _, k := range r.Keyed {
			t.line("%s\t%s\t%s\t%d\t%d\t%s\t%d\t%s", shadowed(k.Name, k.Shadow), k.By, number(k.Setpoint), k.Pressed, k.Shed, age(k.AgeS, k.Stale), k.Misses, k.Error)
			for _, a := range k.Top {
				t.line("  %s\t\t%s\t\t%s", a.Key, number(a.Pressure), percent(a.Ratio))
			}
		}
	}
	if len(r.Guards) > 0 {
		t.heading("GUARD\tREFUSED\tPANICS\tERROR")
		for _, g := range r.Guards {
			t.line("%s\t%d\t%d\t%s", shadowed(g.Name, g.Shadow), g.Refused, g.Panics, g.Error)
		}
	}
}

// shadowed marks what only counts.
func shadowed(name string, shadow bool) string {
	if shadow {
		return name + " (shadow)"
	}
	return name
}

// age of a reading.
func age(s float64, stale bool) string {
	switch {
	case stale && s == 0:
		return "none"
	case stale:
		return seconds(s) + " (stale)"
	}
	return seconds(s)
}

func (t *textWriter) scorecard(r *report) {
	if len(r.Rules) == 0 {
		return
	}
	t.heading("RULE\tHELD\tDISTINCT\tADMITTED\tREFUSED\tSHADOWED")
	for _, c := range r.Rules {
		t.line("%s\t%d\t%d\t%d\t%d\t%d", c.Rule, c.Held, c.Distinct, c.Admitted, c.Refused, c.Shadowed)
	}
	t.heading("TENANT\tRULE\tHELD\tREFUSED")
	for _, c := range r.Tenants {
		t.line("%s\t%s\t%d\t%d", c.Value, c.Rule, c.Held, c.Refused)
	}
}

func (t *textWriter) sheds(sheds []shedReport) {
	if len(sheds) == 0 {
		return
	}
	t.heading("LAST SHEDS\tLANE\tREASON\tBY\tPRIORITY\tTENANT\tCALLER\tOP\tKEY\tCAUSE")
	for _, s := range sheds {
		reason := s.Reason
		if s.Shadow {
			reason += " (shadow)"
		}
		t.line("%s\t%s\t%s\t%s\t%v\t%s\t%s\t%s\t%s\t%s", clock(s.At), s.Lane, reason, s.Stage, s.Priority, s.Tenant, s.Caller, s.Op, s.Key, s.Cause)
	}
}

func (t *textWriter) config(c *configReport) {
	t.heading("CONFIG %d since %s, %d refused; what differs from the default:", c.Version, clock(c.Applied), c.Refused)
	for _, s := range c.Settings {
		if s.Changed {
			t.line("  %s\t%s\t(%s)", s.Field, s.Value, cmp.Or(s.Default, "not set"))
		}
	}
}
