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
// slower than that. So the law tries the next tolerance for some windows, keeps a
// narrower one only where it serves as much, and asks again now and then, either way.
//
// The middle one for all cost 4 to 5 % of goodput in the mean of 80 simulated services.
// Throughput is counted, not inferred from service times as in a probe: their
// geometric mean is nearer to the arithmetic one the more of them is waiting, so
// that smaller limits seemed to serve up to 10 % more than they did.
type trial struct {
	on       bool
	settling bool // the window has requests from before

	width   width         // in force, but for a trial
	to      width         // that is tried, or will be next
	proven  bool          // width is the outcome of a trial
	top     float64       // ln of the highest limit since then
	ref     measured      // windows at it
	got     measured      // windows of the trial
	windows int           // of got
	since   time.Duration // when it began

	bound float64 // seconds of binding since the last one
	next  float64 // seconds of binding until the next one
	gap   float64 // the same where nothing new is known
}

// width is one of the tolerances.
type width int

const (
	wide width = iota // what deadline and baseline give
	middle
	narrow
)

// of is the tolerance in ln where the widest is tau. The others are room for what
// baseline and limit err by.
func (w width) of(tau float64) float64 {
	switch w {
	case middle:
		return min(tau, 0.22)
	case narrow:
		return min(tau, 0.11)
	}
	return tau
}

const (
	gentleCut = 0.2 // of a cut that the wide tolerance would not make
	guessSure = 0.1 // standard error of a mean that is held to the middle without a verdict
	emptier   = 4   // power by which the tolerance falls with the share of slots that is taken

	trialCost    = 0.03  // throughput, in ln, that a narrower tolerance may cost
	narrowCost   = 0.015 // the same of narrow beside middle, which may have cost some already
	trialSure    = 0.025 // standard error of that, for a verdict that is clear by as much
	trialCertain = 0.015 // the same for any
	trialLongest = 2     // times what the reference is of: more would hardly tell more
	trialReach   = 0.25  // in ln, by which the limit may fall after a verdict
	trialLeast   = 0.07  // difference in ln(inflight) below which nothing is tried
	trialSamples = 80    // for one that is clear by twice the error
	trialWindows = 5     // for the others: neighbouring windows are alike

	trialFirst  = 1.0 // seconds of binding
	trialGapMin = 30.0
	trialGapMax = 480.0

	// Seconds after which windows that are not full end a trial. At about what the back
	// end can do only some are full: when the others ended it no trial there came to a
	// verdict.
	trialPatience = 10.0

	steadyBusy   = 0.85 // share of the slots taken: the limit is what holds back
	steadyError  = 0.22 // in ln: at the tolerance
	steadyWeight = 0.98 // of a window beside the one after it
	steadyLimit  = 0.25 // in ln: about the same
	steadyFailed = 0.05 // of what came out, by which a trial may do worse
)

// reset forgets the verdict: the back end is another.
func (t *trial) reset() { *t = trial{to: middle, next: trialFirst, gap: trialGapMin / 2} }

// abort ends a trial without a verdict.
func (t *trial) abort() { t.on, t.ref, t.got = false, measured{}, measured{} }

// tolerance is the one in force for a window whose service time is g above the
// baseline. A narrow one lets nothing grow beyond it, but cuts little between it and the
// widest: a baseline that has become stale must not cost more for it.
//
// While the limit binds now and then only, at about what the back end can do, the
// service time is also that of emptier moments: it would let the limit grow beyond what
// the full ones bear, and nothing would show it. So it is held to less then, and to the
// middle as long as there is no verdict, where that much can be told. Where it is wrong
// the slots fill.
func (t *trial) tolerance(g, widest float64, w measured, limit int) float64 {
	full := min(w.busy/(steadyBusy*float64(limit)), 1)
	guess := !t.proven && w.binding && full < 1 && math.Sqrt(w.v/w.n) < guessSure
	tau := t.width.of(widest)
	if guess {
		tau = middle.of(widest)
	}
	switch {
	case t.width == wide && !guess:
		return tau
	case g <= tau:
		return max(g, tau*math.Pow(full, emptier))
	case guess:
		return tau
	}
	return min(widest, g-gentleCut*(g-tau))
}

// cost is what the smaller of the two limits may cost.
func (t *trial) cost() float64 {
	if max(t.width, t.to) == narrow {
		return narrowCost
	}
	return trialCost
}

// aim is what the next trial tries, and how far, in ln, that is from the tolerance in
// force. A tight deadline has the wide one so near the middle that the two cannot be told
// apart: then it is the narrow one, or there would never be a trial.
func (t *trial) aim(widest float64) (to width, step float64) {
	to = t.to
	if max(to, t.width) == middle && widest-middle.of(widest) <= trialLeast {
		to = narrow
	}
	return to, to.of(widest) - t.width.of(widest)
}

// look takes in a window at the tolerance in force, whose error is err, and tells
// whether the other one should be tried.
func (t *trial) look(w measured, limit int, err float64) bool {
	if w.busy < steadyBusy*float64(limit) || math.Abs(err) > steadyError {
		return false
	}
	t.bound += w.el
	if t.ref.n > 0 && math.Abs(w.x-t.ref.x) < steadyLimit {
		w = w.pooled(t.ref, steadyWeight)
	}
	t.ref = w
	return t.bound >= t.next && w.done > 2*w.scatter()/(trialSure*trialSure)
}

// teaches tells whether a trial at that step can come to a verdict: not where rounding,
// Min or Max would leave it at about the limit that it is compared with.
func (o *Octave) teaches(step float64) bool {
	to, limit, used := math.Log(float64(o.rounded(o.lnL+step))), math.Log(float64(o.limit)), o.trial.ref.x
	if step > 0 { // used is less than the limit where that is not quite full
		return min(step, to-max(limit, used)) > trialLeast
	}
	return min(-step, min(limit, used)-to) > trialLeast
}

// startTrial moves the limit to where the other tolerance would have it on a back
// end that serves no more for more.
func (o *Octave) startTrial(now time.Duration, u Usage, to width, step float64) {
	o.trial.to = to
	o.trial.on, o.trial.settling, o.trial.windows, o.trial.got = true, true, 0, measured{}
	o.trial.since = now
	o.limit = o.rounded(o.lnL + step)
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
	if w.busy < steadyBusy*float64(o.limit) && (now-t.since).Seconds() < trialPatience {
		return // what is not full does not tell what it could serve
	}
	comparable := w.busy >= steadyBusy*float64(o.limit) && w.failed <= t.ref.failed+steadyFailed
	if t.windows++; t.windows > 1 {
		w = w.pooled(t.got, 1)
	}
	t.got = w
	larger, smaller := t.ref, t.got
	if t.to < t.width {
		larger, smaller = smaller, larger
	}
	if !comparable || larger.x-smaller.x < trialLeast {
		o.dropTrial()
		return
	}
	cost, err := throughputCost(larger, smaller)
	doubt := err
	if err <= trialCertain || t.got.done > trialLongest*t.ref.done {
		doubt = 0
	}
	enough := err <= trialSure && t.windows >= trialWindows
	switch {
	case cost > t.cost()+2*err && w.done >= trialSamples,
		cost > t.cost() && doubt == 0 && enough:
		o.state.Why = "trial: the larger limit serves more"
		o.endTrial(min(t.width, t.to), true)
	case cost+doubt <= t.cost() && enough:
		o.state.Why = "trial: the smaller limit serves as much"
		o.endTrial(max(t.width, t.to), true)
	}
}

// throughputCost is what the smaller limit serves less than the larger, in ln, and the
// standard error of that.
func throughputCost(larger, smaller measured) (cost, err float64) {
	return math.Log(larger.done / larger.el * smaller.el / smaller.done),
		math.Sqrt(larger.scatter()/larger.done + smaller.scatter()/smaller.done)
}

// scatter is the variance of how many are done in a window, over their mean. Of slots
// that are always taken it is the squared coefficient of variation of the service times
// (D. R. Cox, Renewal Theory, 1962), of independent arrivals it is 1. Slots are nearly
// full in a trial, and back ends have other reasons to be uneven.
func (m measured) scatter() float64 { return min(max(m.uneven, 0.6), 2) }

// deserted tells that requests have ceased to come while a trial waits for them: its
// window may never close, and the limit would stay a guess.
func (o *Octave) deserted(el float64, u Usage) bool {
	return el >= trialPatience && u.Area-o.win.from.Area < 0.5*el*float64(o.limit)
}

// dropTrial ends a trial without a verdict, and takes back the limit.
func (o *Octave) dropTrial() {
	o.state.Why = "trial: nothing learned"
	o.endTrial(o.trial.width, false)
}

// voided keeps how high the limit has stood since the verdict, and tells whether a
// narrower tolerance has brought it far below that, which no trial speaks for: either it
// is another back end, or the baseline is too low, and the limit would creep to a half of
// what can be done. A lull in which the limit falls to what is used voids the verdict as
// well: with the wide tolerance the limit is back within a second, with the narrow one
// after four.
func (t *trial) voided(lnL float64) bool {
	t.top = max(t.top, lnL)
	return t.width != wide && lnL < t.top-trialReach
}

// endTrial puts a tolerance into force, and the limit with it, and says what is tried
// next, and when: soon until there is a verdict, and soon the one beyond the middle when
// one has come to that. Verdicts that change nothing are asked for less and less.
func (o *Octave) endTrial(w width, learned bool) {
	t := &o.trial
	moved, tried := w != t.width, t.to
	if moved {
		o.setLn(math.Log(float64(o.limit)))
		tried, t.gap = t.width, trialGapMin
	} else if learned {
		t.gap = min(2*t.gap, trialGapMax)
	}
	switch {
	case !learned && !t.proven:
		t.next = min(2*t.next, t.gap)
	case !learned:
		t.next = t.gap
	case w != middle:
		t.to, t.next = middle, t.gap
	default:
		t.to, t.next = wide+narrow-tried, t.gap // the other neighbour
		if moved {
			t.next = trialFirst
		}
	}
	t.width, t.proven, t.bound = w, t.proven || learned, 0
	if learned {
		t.top = o.lnL
	}
	t.abort()
	o.prev = measured{}
	o.limit = o.round()
}
