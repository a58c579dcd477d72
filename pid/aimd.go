package pid

import (
	"math"
	"time"
)

// aimd is additive increase, multiplicative decrease: a slot more for every
// success while at least half of the limit is used, a tenth less for every
// overload. It goes by losses alone, so it needs them: a back end that becomes
// slow without failing anybody lets it grow. It comes to rest where a limit of n
// loses about one request in n/10, all those who waited longest.
//
// Source: Chiu & Jain, "Analysis of the Increase and Decrease Algorithms for
// Congestion Avoidance in Computer Networks" (1989), at the constants of
// AIMDLimit in Netflix' concurrency-limits (2018). Left out is its time-out,
// which counts what took longer than 5 s as lost: who waits knows better.
type aimd struct{}

const aimdBackoff = 0.9

// full: every tick that saw anything. The law reacts to single requests; what
// comes out between two ticks is taken together.
func (aimd) full(int, time.Duration) bool { return true }

func (aimd) baseline() float64 { return 0 }

func (aimd) next(limit float64, w *window, _ float64) (float64, string) {
	after, why := limit, "hold: the limit is not half used"
	// Success by success the limit would stop growing once it is twice what is
	// used.
	if room := 2*float64(w.maxIn) + 1 - after; w.n > 0 && room > 0 {
		after += min(float64(w.n), room)
		why = "grow: no overload"
	}
	if w.bad > 0 {
		bad := float64(w.bad)
		after = min(after-bad, after*math.Pow(aimdBackoff, bad))
		why = "cut: overload"
		if after >= limit {
			why = "grow: more success than overload takes away"
		}
	}
	return after, why
}
