package pid

import (
	"math"
	"time"
)

// learn moves the baseline: down with every faster window, up slowly when the
// lane is calm (no queue of anybody's can hide there), and by a creep when the
// limit does not bind. While it binds only a probe may raise it, or standing
// overload would teach the law that slow is normal.
//
// A calm window of many that is faster beyond doubt is believed at once (of few it may
// be health checks, in a lull). Lanes that share
// a back end, one of which was crowded when another had its first windows, else
// keep a baseline of that crowd for minutes: of two lanes on one core the one at 15 ms
// was held at a single slot by the one at 48 ms with 16.
func (o *Octave) learn(w measured) {
	g, weight := w.y-o.base, w.n/(w.n+50)
	switch {
	case g < 0:
		o.base += 0.3 * weight * g
		if !w.binding && w.busy <= 0.5*float64(o.limit) && w.n >= calmLeast {
			o.base = min(o.base, w.y+2*math.Sqrt(w.v/w.n))
		}
	case w.binding && o.limit > o.cfg.Min:
	case w.binding:
		// At the floor no probe can be, and fewer slots there are none: what is
		// slow here is not of the limit's making. Without this a back end that
		// became slower while a probe had to wait holds the limit there for good.
		o.base += 0.3 * weight * g
	case w.busy <= 0.5*float64(o.limit):
		o.base += 0.1 * weight * g
		o.probe.next = max(o.probe.next, 30)
	default:
		o.base += min(1, 0.02*w.el) * g
	}
}

const calmLeast = 20 // requests

// tolerance is how far above the baseline, in ln, the service time is held: a
// fifth of the logarithmic distance to the deadline. Ten times the baseline
// gives 0.46, five times 0.32.
func tolerance(deadline time.Duration, base float64) float64 {
	if deadline <= 0 {
		return 0.40
	}
	return min(max(0.2*(math.Log(deadline.Seconds())-base), 0.25), 0.6)
}
