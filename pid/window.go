package pid

import (
	"math"
	"time"
)

// window gathers what happens between two decisions of the octave law.
type window struct {
	start time.Duration
	from  Usage // totals at its start

	n, bad int     // samples, overloads
	sy     float64 // sum of ln(service)
	syy    float64
	sl     float64 // sum of service
	sx     float64 // sum of ln(inflight at admission)
	maxIn  int
}

func (w *window) reset(now time.Duration, u Usage) { *w = window{start: now, from: u} }

func (w *window) add(service float64, inflight int) {
	y := math.Log(service)
	w.n++
	w.sy += y
	w.syy += y * y
	w.sl += service
	w.sx += math.Log(float64(inflight))
}

// failed is the share of overload among what came out.
func (w *window) failed() float64 {
	if w.bad == 0 {
		return 0
	}
	return float64(w.bad) / float64(w.n+w.bad)
}

// measured is a closed window.
type measured struct {
	n, el   float64 // samples, seconds
	y, v    float64 // mean and variance of ln(service)
	x       float64 // mean of ln(inflight at admission)
	mean    float64 // mean service, seconds
	busy    float64 // mean slots taken
	failed  float64 // share of overload
	binding bool    // the limit was what held the lane back
	losing  bool    // the queue lost somebody
}

// measure closes the window after el seconds at the given limit.
func (w *window) measure(el float64, u Usage, limit int) measured {
	n := float64(w.n)
	m := measured{n: n, el: el, y: w.sy / n, x: w.sx / n, mean: w.sl / n, failed: w.failed()}
	m.v = max(0.01, w.syy/n-m.y*m.y)
	m.busy = (u.Area - w.from.Area) / el
	full := float64(limit)
	m.binding = m.busy >= 0.9*full || m.busy >= 0.5*full && u.Blocked > w.from.Blocked
	m.losing = u.Lost > w.from.Lost
	return m
}

func (m measured) finite() bool {
	s := m.y + m.v + m.x + m.mean + m.busy
	return !math.IsNaN(s) && !math.IsInf(s, 0)
}
