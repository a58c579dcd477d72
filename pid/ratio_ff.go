package pid

import "time"

// feedForward is the gate's default law: both the arrival rate lambda and the
// capacity mu are measured, so the share to shed, 1 - a/lambda, needs no
// integrator that could wind up and no gain that depends on load. It lets
// through a little more than capacity (a = 1.2 mu and a term that drains the
// queue's error within a second or ten requests), since a queue with priorities
// and eviction uses that surplus better than the gate could; and it is armed
// only when the queue has lost somebody lately: what the queue can carry is
// never shed.
type feedForward struct{}

const (
	ffMargin   = 0.2 // let through beyond capacity
	ffMarginUp = 0.5 // the same while nobody waits

	// The same while the queue carries so few that no ratio is calm: there the
	// queue does better alone, and the gate only keeps the flood from it. With
	// the gate off a lane of 60/s at ten times its capacity spent a third of its
	// processor on waiters that came to nothing.
	ffMarginQuiet = 1.0
)

func (feedForward) next(ratio float64, _ time.Duration, f Flow, d *demand) float64 {
	r, used := feed(f, d), d.used
	if f.Probing {
		used = f.Inflight / float64(max(f.Limit, 1)) // the average stands still
		// The ratio stays too. But overload that begins in a probe must not wait
		// for its end.
		if r = max(r, ratio); d.armed == 0 {
			r = ratio
		}
	}
	switch {
	case ratio == 0 && d.armed == 0:
		r = 0
	case used < 0.5:
		// Half the slots are free: whatever the level says, shed less. Without
		// this the gate can starve the lane it protects and never notice.
		r = min(r, 0.7*ratio)
	}
	return r
}

// feed lets through what the lane can do, a margin, and what brings the level
// back.
func feed(f Flow, d *demand) float64 {
	if d.lambda <= 0 || d.mu <= 0 {
		return 0 // capacity unknown means open, or the gate locks itself
	}
	margin := ffMargin
	switch {
	case d.quiet:
		margin = ffMarginQuiet
	case f.Queued == 0:
		margin = ffMarginUp
	}
	return min(max(1-((1+margin)*d.mu+d.push)/d.lambda, 0), ratioMax)
}
