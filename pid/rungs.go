package pid

import "math"

// rungs compares the smallest limits with their neighbours. There one slot more is more
// than the tolerance: a back end of one core takes twice as long for two requests, a hair
// more than the widest allows. So the regulator stands at two slots for most of the time, and
// comes to one only to be sent up again at once. That doubles the time for nothing, and
// where concurrency costs something it loses: SQLite before one core does a sixth less for
// two. A trial cannot tell, since it wants a few thousand requests at one and the same limit
// first. But the regulator's moves up and down are a comparison in themselves, and probes
// are. What they show fades, so that the larger limit is tried again just as often as
// it takes to stay sure.
type rungs [rungMost]measured // windows with all slots taken, by limit less one

const (
	rungMost    = 4    // slots: above that one slot is within the tolerance
	rungWeight  = 0.99 // of what was seen, with each later window
	rungChanged = 0.2  // in ln: a window that serves so much more or less, beyond doubt, is of another back end
)

// see takes in a window at a limit. One that contradicts what was seen there before voids
// all of that: slow services have few windows, and for minutes their own past would outvote
// what they have become.
func (r *rungs) see(limit int, w measured) {
	if limit > rungMost || w.busy < steadyBusy*float64(limit) {
		return
	}
	if old := r[limit-1]; old.done > 0 && w.done > 0 {
		if d, err := throughputCost(w, old); math.Abs(d) > rungChanged+2*err {
			*r = rungs{}
		}
	}
	for i := range r {
		r[i].n, r[i].done, r[i].el = rungWeight*r[i].n, rungWeight*r[i].done, rungWeight*r[i].el
	}
	r[limit-1] = w.pooled(r[limit-1], 1)
}

// cost is what a limit serves less than one that is a slot larger, in ln, and the
// standard error of that, which is infinite as long as one of them was not seen.
func (r *rungs) cost(limit int) (cost, err float64) {
	if limit < 1 || limit >= rungMost || min(r[limit-1].done, r[limit].done) <= 0 {
		return 0, math.Inf(1)
	}
	return throughputCost(r[limit], r[limit-1])
}

// enough tells whether a limit is known to serve as much as one that is a slot larger.
func (r *rungs) enough(limit int) bool {
	cost, err := r.cost(limit)
	return cost+2*err <= trialCost && min(r[limit-1].done, r[limit].done) >= trialSamples ||
		err <= trialSure && cost+err <= trialCost
}

// curious tells whether to have a look at a limit on the way down from one that is a slot
// larger: if it may serve as much, and less is known of it. By its own steps the regulator
// takes a second or two to get there.
func (r *rungs) curious(limit int) bool {
	cost, err := r.cost(limit)
	return cost-2*err <= trialCost && limit < rungMost && r[limit-1].done < r[limit].done
}

// tread takes in a window and keeps the limit off a slot that serves nothing. d is the
// regulator's move, of which nothing is left where this is another one.
func (o *Octave) tread(w measured, g, tau, d float64) float64 {
	o.rungs.see(o.limit, w)
	switch n, to := o.limit, o.round(); {
	case to > n && o.rungs.enough(n):
		o.setLn(math.Log(float64(n)))
		o.state.Why = "hold: one slot more serves no more"
	case to != n || n <= o.cfg.Min:
		return d
	case o.rungs.enough(n - 1):
		o.setLn(math.Log(float64(n - 1)))
		o.state.Why = "cut: one slot less serves as much"
	case w.binding && g > tau && o.rungs.curious(n-1):
		o.setLn(math.Log(float64(n) - 0.51)) // a window that is not slow as well leads back
	default:
		return d
	}
	return 0
}
