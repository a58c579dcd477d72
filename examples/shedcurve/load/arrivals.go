package load

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// arrivals are the times of a Poisson process of which is given how many fall into each part of the run: the warm-up, then
// each slice. Given their number they fall anywhere in their part, so from one request to the next, chance is that of
// a Poisson process; but a second at 300 requests/s has not 270 of them or 330, which would be taken for what the
// service does.
type arrivals struct {
	cfg   Config
	rand  *rand.Rand
	phase float64         // 0 to 1 requests, so that parts too short for a whole one have their share
	to    time.Duration   // end of the part at hand
	due   []time.Duration // in it, still to come, rising
}

func newArrivals(cfg Config) *arrivals {
	r := rand.New(rand.NewPCG(cfg.Seed, 1))
	return &arrivals{cfg: cfg, rand: r, phase: r.Float64()}
}

// next is when the next request is due, from the start of the run; there is none when it has ended.
func (a *arrivals) next() (at time.Duration, ok bool) {
	for len(a.due) == 0 {
		if a.to >= a.cfg.WarmUp+a.cfg.Duration {
			return 0, false
		}
		a.part()
	}
	at, a.due = a.due[0], a.due[1:]
	return at, true
}

// part goes on to the next part.
func (a *arrivals) part() {
	from, end := a.to, a.cfg.WarmUp+a.cfg.Duration
	switch {
	case from < a.cfg.WarmUp:
		a.to = a.cfg.WarmUp
	case a.cfg.Slice > 0:
		a.to = min(from+a.cfg.Slice, end)
	default:
		a.to = end
	}
	for range int(a.until(a.to) - a.until(from)) {
		a.due = append(a.due, from+time.Duration(a.rand.Int64N(int64(a.to-from))))
	}
	slices.Sort(a.due)
}

// until is how many are due before t.
func (a *arrivals) until(t time.Duration) float64 {
	return math.Floor(a.cfg.Rate*t.Seconds() + a.phase)
}
