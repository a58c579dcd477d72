package pid

import (
	"math"
	"time"
)

// trial asks whether a smaller limit would serve as much. The tolerance is wide
// because a back end may gain from every further request, and because baselines
// are uncertain. But one with a hard knee gains nothing beyond it: there the width
// only has requests wait inside the back end, and where concurrency costs
// something, as lock contention does, it loses: one whose knee is at 1.5 times what it
// needs was held just above that, and gave 92 to 96 % of what it could. No probe can
// tell: it measures the baseline, and at the tolerance every back end is as much
// slower than that. So the law tries the other tolerance for some windows, keeps the
// narrow one only where it serves as much, and asks again now and then, either way.
//
// The narrow one for all cost 4 to 5 % of goodput in the mean of 80 simulated services.
// Throughput is counted, not inferred from service times as in a probe: their
// geometric mean is nearer to the arithmetic one the more of them is waiting, so
// that smaller limits seemed to serve up to 10 % more than they did.
type trial struct {
	on       bool
	settling bool // the window has requests from before

	narrow  bool     // the tolerance in force, but for a trial
	ref     measured // windows at it
	got     measured // windows of the trial
	windows int      // of got

	bound float64 // seconds of binding since the last one
	next  float64 // seconds of binding until the next one
}

const (
	tauNarrow = 0.22 // in ln: room for what baseline and limit err by
	narrowCut = 0.2  // of a cut that the wide tolerance would not make

	trialCost    = 0.03  // throughput, in ln, that the narrow tolerance may cost
	trialSure    = 0.025 // standard error of that, for a verdict
	trialLeast   = 0.1   // difference in ln(inflight) below which nothing is tried
	trialSamples = 80    // for a verdict that is clear
	trialWindows = 5     // for one that is not: neighbouring windows are alike

	trialFirst  = 1.0 // seconds of binding
	trialGapMin = 30.0
	trialGapMax = 480.0

	steadyBusy   = 0.85 // share of the slots taken: the limit is what holds back
	steadyWeight = 0.98 // of a window beside the one after it
	steadyLimit  = 0.12 // in ln: about the same
)

// reset forgets the verdict: the back end is another.
func (t *trial) reset() { *t = trial{next: trialFirst} }

// abort ends a trial without a verdict.
func (t *trial) abort() { t.on, t.ref, t.got = false, measured{}, measured{} }

// tolerance is the one in force, where the service time is g above the baseline.
// The narrow one lets nothing grow beyond it, but cuts little between the two: a
// baseline that has become stale must not cost more for it.
func (t *trial) tolerance(g, wide float64) float64 {
	switch {
	case !t.narrow || wide <= tauNarrow:
		return wide
	case g <= tauNarrow:
		return tauNarrow
	}
	return min(wide, g-narrowCut*(g-tauNarrow))
}

// look takes in a window at the tolerance in force, whose error is err, and tells
// whether the other one should be tried.
func (t *trial) look(w measured, limit int, err float64) bool {
	if w.busy < steadyBusy*float64(limit) || math.Abs(err) > tauNarrow {
		t.ref = measured{}
		return false
	}
	t.bound += w.el
	if t.ref.n > 0 && math.Abs(w.x-t.ref.x) < steadyLimit {
		w = w.pooled(t.ref, steadyWeight)
	}
	t.ref = w
	return t.bound >= t.next && w.done > 2/(trialSure*trialSure)
}

// startTrial moves the limit to where the other tolerance would have it on a back
// end that serves no more for more.
func (o *Octave) startTrial(now time.Duration, u Usage, wide float64) {
	d := tauNarrow - wide
	if o.trial.narrow {
		d = -d
	}
	o.trial.on, o.trial.settling, o.trial.windows, o.trial.got = true, true, 0, measured{}
	o.limit = o.rounded(o.lnL + d)
	o.state.Why = "trial: does another limit serve as much?"
	o.win.reset(now, u)
}

// tickTrial takes in a window of the trial.
func (o *Octave) tickTrial(now time.Duration, u Usage, w measured) {
	t := &o.trial
	o.win.reset(now, u)
	if w.binding {
		o.probe.bound += w.el
	}
	if t.settling {
		t.settling = false
		return
	}
	comparable := w.busy >= steadyBusy*float64(o.limit) && w.failed == 0
	if t.windows++; t.windows > 1 {
		w = w.pooled(t.got, 1)
	}
	t.got = w
	wide, narrow := t.ref, t.got
	if t.narrow {
		wide, narrow = narrow, wide
	}
	if !comparable || wide.x-narrow.x < trialLeast {
		o.state.Why = "trial: nothing learned"
		o.endTrial(t.narrow)
		return
	}
	cost, err := throughputCost(wide, narrow)
	switch {
	case cost > trialCost+2*err && w.done >= trialSamples,
		cost > trialCost && err <= trialSure && t.windows >= trialWindows:
		o.state.Why = "trial: the larger limit serves more"
		o.endTrial(false)
	case err <= trialSure && t.windows >= trialWindows:
		o.state.Why = "trial: the smaller limit serves as much"
		o.endTrial(true)
	}
}

// throughputCost is what narrow serves less than wide, in ln, and the standard
// error of that if completions were independent; saturated back ends are steadier.
func throughputCost(wide, narrow measured) (cost, err float64) {
	return math.Log(wide.done / wide.el * narrow.el / narrow.done), math.Sqrt(1/wide.done + 1/narrow.done)
}

// endTrial puts a tolerance into force, and the limit with it. Verdicts that change
// nothing are asked for less and less.
func (o *Octave) endTrial(narrow bool) {
	t := &o.trial
	if narrow != t.narrow {
		o.setLn(math.Log(float64(o.limit)))
		t.next = trialGapMin
	} else {
		t.next = min(max(2*t.next, trialGapMin), trialGapMax)
	}
	t.narrow, t.bound = narrow, 0
	t.abort()
	o.prev = measured{}
	o.limit = o.round()
}
