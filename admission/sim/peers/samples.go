package peers

import (
	"math"
	"slices"

	"github.com/spillway-go/spillway/pid"
)

// samples are the service times of a window, in seconds.
type samples struct {
	service []float64
	maxIn   int
}

// add takes in a request that succeeded: the peers leave out what timed out.
func (s *samples) add(r pid.Sample) {
	if r.Overload {
		return
	}
	s.service = append(s.service, r.Service.Seconds())
	s.maxIn = max(s.maxIn, r.Inflight)
}

func (s *samples) reset() { s.service, s.maxIn = s.service[:0], 0 }

// quantile of what was gathered; there must be some.
func (s *samples) quantile(q float64) float64 {
	slices.Sort(s.service)
	return s.service[int(q*float64(len(s.service)-1))]
}

// lately is the last so many values.
type lately struct {
	values []float64
	most   int
}

func (l *lately) add(v float64) {
	if len(l.values) == l.most {
		l.values = l.values[1:]
	}
	l.values = append(l.values, v)
}

func (l *lately) median() float64 {
	sorted := slices.Sorted(slices.Values(l.values))
	return sorted[len(sorted)/2]
}

func (l *lately) mean() (m float64) {
	for _, v := range l.values {
		m += v / float64(len(l.values))
	}
	return m
}

// covariance of two series of one length.
func covariance(x, y *lately) (c float64) {
	mx, my := x.mean(), y.mean()
	for i := range x.values {
		c += (x.values[i] - mx) * (y.values[i] - my) / float64(len(x.values))
	}
	return c
}

// variation is the standard deviation over the mean.
func variation(x *lately) float64 { return math.Sqrt(covariance(x, x)) / x.mean() }

// average is a mean that forgets exponentially, once it has begun as the plain
// mean of some values.
type average struct {
	weight float64 // of a value
	warmup int     // values left until it forgets
	n      int
	value  float64
}

// newAverage forgets over a window of so many values.
func newAverage(window float64, warmup int) average {
	return average{weight: 2 / (window + 1), warmup: warmup}
}

func (a *average) add(v float64) float64 {
	w := a.weight
	if a.n < a.warmup {
		a.n++
		w = 1 / float64(a.n)
	}
	a.value += w * (v - a.value)
	return a.value
}
