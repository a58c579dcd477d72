package pid

import "time"

// gradient2 compares the mean service time of a second with its mean over ten
// minutes: the limit follows the ratio of the two, between a half and one, and
// gets four slots more than that asks for, so that it grows while nothing
// becomes slower. A fifth of each step is taken.
//
// Since the long mean follows the short one, standing overload becomes normal
// to it in minutes, and its limit creeps up. It never settles much below eight
// slots: there half of the limit and four more are the limit.
//
// Source: Gradient2Limit and WindowedLimit in Netflix' concurrency-limits
// (2018), at their constants. The original lets overload pass unseen; here a
// window with more overload than success counts as twice as slow, or constant
// time-outs would hold the limit where it is.
type gradient2 struct {
	long    float64 // mean service time, seconds
	windows int     // so far, up to the warm-up
}

const (
	gradient2Queue  = 4
	gradient2Smooth = 0.2
	gradient2Long   = 600 // windows
	gradient2Warmup = 10  // windows whose plain mean the long one starts with
	gradient2Least  = 0.5
	gradient2Drift  = 2   // so far above the short mean the long one falls faster:
	gradient2Decay  = 0.9 // by this factor a window
)

func (*gradient2) full(samples int, elapsed time.Duration) bool { return second(samples, elapsed) }

func (g *gradient2) baseline() float64 { return g.long }

func (g *gradient2) next(limit float64, w *window, _ float64) (float64, string) {
	gradient, why := gradient2Least, "cut: more overload than success"
	if w.bad <= w.n {
		gradient, why = g.gradient(w.mean()), ""
		if 2*float64(w.maxIn) < limit {
			return limit, "hold: the limit is not half used"
		}
	}
	after := limit + gradient2Smooth*(gradient*limit+gradient2Queue-limit)
	switch {
	case why != "":
	case after >= limit:
		why = "grow: not much slower than the long mean"
	default:
		why = "cut: slower than the long mean"
	}
	return after, why
}

// gradient takes in a window's mean service time and returns the long mean over
// it, within bounds.
func (g *gradient2) gradient(short float64) float64 {
	weight := 2. / (gradient2Long + 1)
	if g.windows < gradient2Warmup {
		g.windows++
		weight = 1 / float64(g.windows)
	}
	g.long += weight * (short - g.long)
	ratio := g.long / short
	if ratio > gradient2Drift {
		g.long *= gradient2Decay
	}
	return min(max(ratio, gradient2Least), 1)
}
