package pid

import (
	"math"
	"time"
)

// window gathers what happens between two decisions of a law.
type window struct {
	start time.Duration
	from  Usage // totals at its start

	n, bad int     // samples, overloads
	more   int     // successes that were not timed
	sy     float64 // sum of ln(service)
	syy    float64
	sl     float64 // sum of service
	sll    float64
	sx     float64 // sum of ln(inflight at admission)
	maxIn  int
}

func (w *window) reset(now time.Duration, u Usage) { *w = window{start: now, from: u} }

// longestGap between ticks: after a longer one (an idle owner, a suspended
// machine) a window is worth nothing, since it was not one load all the while.
const longestGap = max(time.Second, 4*TickPeriod)

// observe takes in a finished request but for its inflight, which counts where
// its service time does not. Service times below a microsecond count as one,
// negative ones are dropped.
func (w *window) observe(s Sample) {
	switch {
	case s.Overload:
		w.bad++
	case s.Service < 0:
	default:
		w.more += max(s.More, 0)
		w.add(max(s.Service, time.Microsecond).Seconds(), max(s.Inflight, 1))
	}
}

func (w *window) add(service float64, inflight int) {
	y := ln(service)
	w.n++
	w.sy += y
	w.syy += y * y
	w.sl += service
	w.sll += service * service
	w.sx += ln(float64(inflight))
}

// ln is math.Log for x > 0, neither subnormal nor infinite, within 1e-7: two of
// math.Log's were more than half of what a request cost the lane. x is split
// into m in [1/sqrt2, sqrt2) and a power of two; of atanh's series four terms do.
func ln(x float64) float64 {
	const sqrtHalf = 0x3fe6a09e667f3bcd // its bits
	bits := math.Float64bits(x)
	exp := (int64(bits) - sqrtHalf) >> 52
	m := math.Float64frombits(bits - uint64(exp)<<52)
	s := (m - 1) / (m + 1)
	z := s * s
	return float64(exp)*math.Ln2 + 2*s*(1+z*(1./3+z*(1./5+z*(1./7))))
}

// mean service time, in seconds.
func (w *window) mean() float64 { return w.sl / float64(w.n) }

// failed is the share of overload among what came out.
func (w *window) failed() float64 {
	if w.bad == 0 {
		return 0
	}
	return float64(w.bad) / float64(w.n+w.bad)
}

// blocked tells whether an arrival found no slot.
func (w *window) blocked(u Usage) bool { return u.Blocked > w.from.Blocked }

// measured is a closed window.
type measured struct {
	n, el   float64 // samples, seconds
	done    float64 // successes, of which n were timed
	span    float64 // seconds of the latest window
	y, v    float64 // mean and variance of ln(service)
	x       float64 // mean of ln(inflight at admission)
	mean    float64 // mean service, seconds
	uneven  float64 // squared coefficient of variation of the service times
	busy    float64 // mean slots taken
	failed  float64 // share of overload
	binding bool    // the limit was what held the lane back
	losing  bool    // the queue lost somebody
}

// measure closes the window after el seconds at the given limit.
func (w *window) measure(el float64, u Usage, limit int) measured {
	n := float64(w.n)
	m := measured{n: n, done: n + float64(w.more), el: el, span: el, y: w.sy / n, x: w.sx / n, mean: w.sl / n, failed: w.failed()}
	m.v = max(0.01, w.syy/n-m.y*m.y)
	m.uneven = max(0, w.sll/n/(m.mean*m.mean)-1)
	m.busy = (u.Area - w.from.Area) / el
	full := float64(limit)
	m.binding = m.busy >= 0.9*full || m.busy >= 0.5*full && w.blocked(u)
	m.losing = u.Lost > w.from.Lost
	return m
}

// after is m together with the windows before it, the older the less, as long as
// the limit bound in them too and was about the same. A probe is compared with
// that: against one window of thirty requests a longer probe tells no more.
func (m measured) after(old measured) measured {
	if old.n == 0 || !old.binding || !m.binding || math.Abs(m.x-old.x) > sameLimit {
		return m
	}
	return m.pooled(old, olderWeight)
}

// pooled is m together with old, whose requests have so much weight.
func (m measured) pooled(old measured, weight float64) measured {
	n, el := weight*old.n, weight*old.el
	m.done += weight * old.done
	a, b := m.n/(m.n+n), n/(m.n+n)
	dy := m.y - old.y
	m.v = a*m.v + b*old.v + a*b*dy*dy
	m.y, m.x, m.uneven = a*m.y+b*old.y, a*m.x+b*old.x, a*m.uneven+b*old.uneven
	m.n, m.el = m.n+n, m.el+el
	return m
}

const (
	olderWeight = 0.8  // of a window beside the one after it
	sameLimit   = 0.25 // in ln
)

func (m measured) finite() bool {
	s := m.y + m.v + m.x + m.mean + m.busy
	return !math.IsNaN(s) && !math.IsInf(s, 0)
}

// vague tells of a calm window whose mean is less certain than the tolerance is
// wide: few samples, and unlike each other, as when a third of what a quiet
// service does are health checks. Nothing is urgent while the lane is calm, and
// a baseline made of them would take the first real traffic for a queue.
func (m measured) vague(limit int) bool {
	return !m.binding && m.busy <= 0.5*float64(limit) && m.v/m.n > vagueError*vagueError
}

const vagueError = 0.4 // standard error of the mean of ln(service)
