package sim

import (
	"math"
	"sort"
	"time"
)

// linear is the schedule's value at second t: linear between points, the later one
// where a second is repeated, constant before the first and after the last, 1
// without points.
func linear(points []Point, t float64) float64 {
	i := sort.Search(len(points), func(i int) bool { return points[i][0] > t })
	switch {
	case len(points) == 0:
		return 1
	case i == 0:
		return points[0][1]
	case i == len(points):
		return points[i-1][1]
	}
	return line(points[i-1], points[i], t)
}

// line is the value at t of the line through a and b.
func line(a, b Point, t float64) float64 {
	return a[1] + (b[1]-a[1])*(t-a[0])/(b[0]-a[0])
}

// stepped is the value of the last point at or before t, 1 before the first.
func stepped(points []Point, t float64) float64 {
	i := sort.Search(len(points), func(i int) bool { return points[i][0] > t })
	if i == 0 {
		return 1
	}
	return points[i-1][1]
}

// poisson draws the arrivals of a process whose rate is piecewise linear: the
// integral of the rate up to the n-th arrival is the n-th point of a process of
// rate 1 (inversion; exact, and no draw is thrown away).
type poisson struct {
	rate   []Point // [second, per second]
	at     float64 // the last arrival
	end    float64
	random stream
}

func newPoisson(load Arrivals, capacity, end float64, random stream) poisson {
	p := poisson{end: end, random: random}
	for _, pt := range load.Points {
		p.rate = append(p.rate, Point{pt[0], pt[1] * capacity})
	}
	return p
}

// next is the time of the next arrival, never after the end.
func (p *poisson) next() time.Duration {
	need := p.random.exp()
	for len(p.rate) > 0 && p.at < p.end {
		from, to, until := p.segment()
		span := until - p.at
		area := (from + to) / 2 * span
		if area > need {
			p.at += span * within(from, to, need/span)
			break
		}
		need -= area
		p.at = until
	}
	if len(p.rate) == 0 || p.at >= p.end {
		p.at = p.end
		return never
	}
	return seconds(p.at)
}

// segment is the rate now and at until, between which it is linear. It forgets
// points that have passed.
func (p *poisson) segment() (from, to, until float64) {
	for len(p.rate) > 1 && p.rate[1][0] <= p.at {
		p.rate = p.rate[1:]
	}
	first := p.rate[0]
	switch {
	case p.at < first[0]:
		return first[1], first[1], math.Min(first[0], p.end)
	case len(p.rate) == 1:
		return first[1], first[1], p.end
	}
	until = math.Min(p.rate[1][0], p.end)
	return line(first, p.rate[1], p.at), line(first, p.rate[1], until), until
}

// within is the share x of a segment of length 1 after which the area under a
// line from a to b is need.
func within(a, b, need float64) float64 {
	slope := b - a
	root := math.Sqrt(math.Max(a*a+2*slope*need, 0))
	if a+root <= 0 {
		return 1
	}
	return math.Min(2*need/(a+root), 1)
}

const never = time.Duration(math.MaxInt64)

func seconds(s float64) time.Duration {
	ns := s * 1e9
	if !(ns < math.MaxInt64/2) {
		return never
	}
	return time.Duration(ns)
}

func millis(ms float64) time.Duration { return seconds(ms / 1000) }
