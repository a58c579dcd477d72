package debug

import (
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/scorecard"
)

// gather asks the controller and names nobody that redact is to hide.
func gather(ctrl *admission.Controller, redact redactor) report {
	s, recent, now := ctrl.Stats(), ctrl.Recent(), time.Now()
	r := report{
		At: now, Mode: s.Mode, Closed: s.Closed, Exempt: s.Exempt,
		Lanes: make([]laneReport, len(s.Lanes)), Signals: []signalReport{}, Keyed: []keyedReport{},
		Guards: []guardReport{}, Rules: []ruleReport{}, Sheds: []shedReport{},
		Config: configReport{
			Version: s.Config.Version, Applied: s.Config.Applied, Refused: s.Config.Refused,
			Error: redact.text(text(s.Config.Err)), Settings: settings(ctrl.Config(), redact),
		},
	}
	for i := range s.Lanes {
		r.Lanes[i] = laneOf(&s.Lanes[i])
		r.Lanes[i].follow(recent.Moments, now)
	}
	for _, g := range s.Signals {
		r.Signals = append(r.Signals, signalReport{
			Name: g.Name, Shadow: g.Shadow, Setpoint: g.Setpoint, Pressure: g.Pressure, AgeS: g.Age.Seconds(), Stale: g.Stale,
			Misses: g.Misses, Error: text(g.Err), Ratio: g.Ratio, P: g.Terms.P, I: g.Terms.I, D: g.Terms.D, Out: g.Terms.Out,
			Points: signalPoints(g.Name, recent.Moments),
		})
	}
	for _, k := range s.Keyed {
		r.Keyed = append(r.Keyed, keyedOf(k, redact))
	}
	for _, g := range s.Guards {
		r.Guards = append(r.Guards, guardReport{Name: g.Name, Shadow: g.Shadow, Refused: g.Refused, Panics: g.Panics, Error: redact.text(text(g.Err))})
	}
	for _, c := range s.Rules {
		r.Rules = append(r.Rules, ruleReport{
			Rule: c.Rule, Wild: c.Wild, Held: c.Held, Distinct: c.Distinct, OtherHeld: c.OtherHeld,
			Admitted: c.Admitted, Refused: c.Refused, Shadowed: c.Shadowed, Top: tenantsOf(c.Top, redact),
		})
	}
	r.Tenants = tenantsOf(s.Tenants, redact)
	for _, e := range recent.Sheds {
		r.Sheds = append(r.Sheds, shedOf(e, redact))
	}
	r.judge()
	return r
}

func tenantsOf(top []scorecard.TenantCount, redact redactor) []tenantReport {
	r := []tenantReport{}
	for _, t := range top {
		r = append(r, tenantReport{Rule: t.Rule, Value: redact.name(t.Value), Held: t.Held, Refused: t.Refused})
	}
	return r
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return printable(err.Error())
}

func keyedOf(k admission.KeyedStats, redact redactor) keyedReport {
	r := keyedReport{
		Name: k.Name, Shadow: k.Shadow, By: k.By, Setpoint: k.Setpoint, AgeS: k.Age.Seconds(), Stale: k.Stale, Misses: k.Misses,
		Error: redact.text(text(k.Err)), Pressed: k.Pressed, Over: k.Over, Shed: k.Shed, Top: []actorReport{},
	}
	for _, a := range k.Top {
		r.Top = append(r.Top, actorReport{Key: redact.name(a.Key), Pressure: a.Pressure, Ratio: a.Ratio})
	}
	return r
}

func shedOf(e admission.ShedSample, redact redactor) shedReport {
	cause := e.Cause
	if cause == nil {
		cause = e.Err.Err
	}
	return shedReport{
		At: e.At, Lane: e.Err.Lane, Reason: e.Err.Reason.String(), Stage: e.Err.Stage, Priority: e.Priority,
		Tenant: redact.name(e.Tenant), Caller: printable(e.Caller), Op: printable(e.Op), Key: redact.name(e.Key),
		Cause: redact.text(text(cause)), Shadow: e.Shadow,
	}
}

func laneOf(l *admission.LaneStats) laneReport {
	r := laneReport{
		Name: l.Name, Mode: l.Mode, Limit: l.Limit, Inflight: l.Inflight, Peak: l.Peak, Overrun: l.Overrun,
		LimitWhy: l.LimitWhy, Probing: l.Probing, Resting: l.Resting,
		BaselineS: l.Baseline.Seconds(), LatencyS: l.Latency.Seconds(), MedianS: l.Median.Seconds(),
		OldestWaiterS: l.OldestWaiter.Seconds(), QueueCapacity: l.QueueCapacity, QueueMode: l.QueueMode, Pressure: l.Pressure,
		ShedRatio: l.ShedRatio, Threshold: l.Threshold, Binding: l.Binding,
		ArrivalsPerS: l.Arrivals, ThroughputPerS: l.Throughput, Demand: l.Demand, Early: l.Early,
		WaitP50S: l.Wait.Quantile(0.5).Seconds(), WaitP99S: l.Wait.Quantile(0.99).Seconds(),
		ServiceP50S: l.Service.Quantile(0.5).Seconds(), ServiceP99S: l.Service.Quantile(0.99).Seconds(),
		Points: []point{},
	}
	totals := [admission.NumReasons]uint64{}
	for t := range l.Tiers {
		ts := &l.Tiers[t]
		tier := tierReport{
			Tier: admission.Tier(t).String(), Queued: l.Queued[t], Arrived: ts.Arrived, Admitted: ts.Admitted, Left: ts.Left,
			Outcomes: map[string]uint64{},
		}
		for o, n := range ts.Outcomes {
			tier.Outcomes[admission.Outcome(o).String()] = n
		}
		for why := range ts.Shed {
			tier.Shed += ts.Shed[why]
			tier.WouldShed += ts.Shadow[why]
			totals[why] += ts.Shed[why] + ts.Shadow[why]
		}
		r.Queued += tier.Queued
		r.Tiers = append(r.Tiers, tier)
	}
	r.Reasons = []reasonReport{}
	for why, n := range totals {
		if n > 0 {
			r.Reasons = append(r.Reasons, reasonReport{why: admission.Reason(why), Reason: admission.Reason(why).String(), Total: n})
		}
	}
	return r
}
