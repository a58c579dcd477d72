package pid

import (
	"math"
	"time"
)

// probe is the octave law's measurement of the baseline: the limit halved for
// some 80 to 300 requests. It is the one ingredient with a large effect in every
// simulated family; without it the worst regret rose from 10 to 72 %.
type probe struct {
	on       bool
	settling bool          // what runs was admitted at the old limit
	settle   float64       // how long, seconds
	from     time.Duration // when the settled part begins
	ref      measured      // the windows before

	bound  float64 // seconds of binding since the last probe
	next   float64 // seconds of binding until the next one
	last   float64 // when the last one ended, seconds
	gap    float64 // least seconds between emergency probes
	excess int     // windows in a row far above the tolerance
}

const (
	probeGapMin = 3
	probeGapMax = 30

	// Cuts, in ln, after which an emergency waits for no gap: at the floor no probe
	// can be any more. A back end that became ten times slower soon after a probe
	// that had found nothing new was held at one slot for minutes.
	probeCut = 1

	probeMost  = 0.75 // of the limit: nearer to it nothing can be told
	probeTimed = 30   // requests, from which on their times count
	minJoined  = 8    // requests, to measure something when another lane does

	// Two mean service times settle a lane; one request of an hour among many
	// short ones must not halve the limit for minutes.
	probeSettleMax = 30.0
)

// wantsProbe tells whether the baseline should be measured now: after enough
// binding time, or at once when three windows were far too slow or the cuts
// add up without growth between, both signs that the baseline is stale.
func (o *Octave) wantsProbe(now time.Duration, w measured, g, tau, d float64) bool {
	p := &o.probe
	if w.binding {
		p.bound += w.el
	}
	if w.binding && g > tau+max(0.8, 3*math.Sqrt(w.v/w.n)) {
		p.excess++
	} else {
		p.excess = 0
	}
	switch {
	case w.binding && d < 0:
		o.cut -= d
	case d > 0:
		o.cut = 0
	}
	stale := (p.excess >= 3 || o.cut > 0.4) && now.Seconds()-p.last >= p.gap || o.cut > probeCut
	return w.binding && o.limit > o.cfg.Min && (p.bound >= p.next || stale)
}

// Join starts a probe because another lane has begun one, unless the limit does
// not bind or there is nothing to compare with.
func (o *Octave) Join(now time.Duration, u Usage) {
	now = max(now, o.last)
	if o.probe.on || now < o.rest.until || o.limit <= o.cfg.Min {
		return
	}
	ref := o.prev
	if el := (now - o.win.start).Seconds(); o.win.n >= minJoined && el > 0 {
		ref = o.win.measure(el, u, o.limit).after(o.prev)
	}
	switch {
	case ref.n >= minJoined && ref.binding && ref.finite():
		o.startProbe(now, u, ref)
	case ref.n < minJoined && o.probe.ref.binding && now.Seconds()-o.probe.last < 1:
		// It has just measured itself, and has nothing to learn yet. Were its limit to
		// stay, or to move, the other lane would measure how they share a back end.
		o.startProbe(now, u, measured{mean: o.mean})
	}
}

func (o *Octave) startProbe(now time.Duration, u Usage, ref measured) {
	o.probe.on, o.probe.settling = true, true
	o.probe.ref, o.prev = ref, measured{}
	o.trial.abort()
	o.probe.settle = min(2*ref.mean, probeSettleMax)
	o.probe.from = now + seconds(o.probe.settle)
	o.limit = o.probed(u)
	o.state.Why = "probe: measuring the baseline at half the limit"
	o.win.reset(now, u)
}

// probed is the limit of a probe. It is half of what the wide tolerance would allow: a
// limit that trials have brought nearer to the knee is cut by less, to as far below it.
// Half of that left 9 slots of the 16 that a service could use, and its best tiers lost
// 0.2 % of their requests to it.
func (o *Octave) probed(u Usage) int {
	widest := tolerance(u.Deadline, o.base)
	share := min(0.5*math.Exp(widest-o.trial.width.of(widest)), probeMost)
	return max(o.cfg.Min, int(share*float64(o.limit)))
}

// tickProbe waits for the probe to settle, then for samples enough: fewer and a
// saturated back end was taken for a half elastic one as often as not, and the
// limit of a real service of one core stayed at four times what it needed.
func (o *Octave) tickProbe(now time.Duration, u Usage) {
	p := &o.probe
	if p.settling {
		if now < p.from {
			return
		}
		maxIn := o.win.maxIn
		o.win.reset(now, u)
		o.win.maxIn = maxIn
		p.settling = false
		return
	}
	el := (now - o.win.start).Seconds()
	need := min(max(200*p.ref.v, 80), 300)
	done := float64(o.win.n) >= need && el >= p.ref.span
	if done || el >= max(2, 3*o.mean) {
		o.endProbe(now, u, el)
	}
}

// endProbe compares the throughput at the half limit with that before. The
// elasticity e = dln(throughput)/dln(inflight), shrunk towards 0.6 by its own
// sampling error, tells two cases apart: near 0 the back end was saturated and
// half the limit served as much, so the faster time is the baseline and the
// half limit is kept; near 1 the back end is merely slow, and what is measured
// now is its baseline, even where it is higher.
func (o *Octave) endProbe(now time.Duration, u Usage, el float64) {
	p := &o.probe
	w := o.win.measure(el, u, o.limit)
	p.on, p.excess, o.cut, p.bound = false, 0, 0, 0
	p.last = now.Seconds()
	p.next = max(30*(0.85+0.3*u.Chance), 40*(el+p.settle))
	o.maxHist = max(o.maxHist, float64(o.win.maxIn))
	defer o.win.reset(now, u)

	if o.win.bad > o.win.n {
		o.setLn(math.Log(float64(o.limit)))
		o.state.Why = "probe: failed, half the limit kept"
		return
	}
	if w.finite() {
		o.rungs.see(o.limit, w)
	}
	if dx := p.ref.x - w.x; w.n >= 8 && dx > 0.2 && w.finite() {
		o.judgeProbe(w, dx)
	} else {
		o.state.Why = "probe: nothing learned"
	}
	o.limit = o.round()
}

// elasticity estimates dln(throughput)/dln(inflight) and the variance of that, in
// two ways, each weighed by how well it is known: from the throughputs, whose
// counts scatter by their roots, and by Little's law from the service times. Where
// these differ little among requests they tell much more than the counts: on a
// real service of one core the counts alone could not tell saturation from chance,
// and the limit stayed at four times what it needed. Of few requests the service
// times say too little: going by them held slow services down in simulation.
func (p *probe) elasticity(w measured, dx float64) (e, variance float64) {
	n, ref := max(w.n, 1), p.ref
	counted := math.Log(ref.done/ref.el/(max(w.done, 0.5)/w.el)) / dx
	countedVar := (1/ref.n + 1/n) / (dx * dx)
	if min(n, ref.n) < probeTimed {
		return counted, countedVar
	}
	timed := 1 - (ref.y-w.y)/dx
	timedVar := (ref.v/ref.n + w.v/n) / (dx * dx)
	weight := timedVar / (countedVar + timedVar)
	return weight*counted + (1-weight)*timed, countedVar * weight
}

func (o *Octave) judgeProbe(w measured, dx float64) {
	p := &o.probe
	e, s2 := p.elasticity(w, dx)
	e = (0.09*e + 0.6*s2) / (0.09 + s2)
	old := o.base
	switch {
	case e <= 0.3:
		o.base = min(o.base, w.y)
		o.setLn(math.Log(float64(o.limit)) + max(e, 0)*dx) // where what it serves less begins
		p.next = 0
		o.state.Why = "probe: saturated, half the limit serves as much"
	case w.y <= o.base:
		o.base += 0.5 * (w.y - o.base)
		o.state.Why = "probe: baseline lowered"
	case e >= 0.6:
		o.base = w.y
		o.state.Why = "probe: elastic, the back end became slower"
	default:
		o.base += 0.7 * (w.y - o.base)
		o.state.Why = "probe: baseline raised"
	}
	if math.Abs(o.base-old) > 0.2 {
		p.gap = probeGapMin
		o.trial.reset()
		o.rungs = rungs{}
	} else {
		p.gap = min(2*p.gap, probeGapMax)
	}
	o.state.Baseline = seconds(math.Exp(o.base))
}
