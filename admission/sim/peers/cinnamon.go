package peers

import (
	"math"
	"time"

	"github.com/spillway-go/spillway/pid"
)

// cinnamon compares the 90th percentile of the service time, smoothed by a
// median and a mean, with a target, of which it tolerates the more the lower the
// limit is; the limit follows the ratio and gets its square root more. The target
// is set anew to what is measured from time to time. So that it does not drift
// upwards with the limit under standing overload, the covariance of inflight and
// throughput over 50 intervals is watched: where it is negative the limit goes
// down.
//
// Source: Gavrilenko & Thomsen, "Cinnamon Auto-Tuner: Adaptive Concurrency in
// the Wild" (Uber engineering, 2023). The article gives neither the numbers nor
// all rules. Guessed are: intervals of a second with 10 requests, the medians of
// 5 and means over 5 of them, a tolerance of 1 + 1/sqrt(limit), a new target once
// a minute, a tenth less where the covariance is negative, growth only while half
// of the limit is used, and start and bounds, 20, 1 and 1,000.
type cinnamon struct {
	limit  float64
	seen   samples
	start  time.Duration // of the interval
	area   float64       // then
	target float64       // seconds
	anew   time.Duration // when the target is set

	recent               lately
	smooth               average
	inflight, throughput lately
}

const (
	cinnamonInitial   = 20
	cinnamonMax       = 1000
	cinnamonSamples   = 10
	cinnamonQuantile  = 0.9
	cinnamonMedian    = 5
	cinnamonMean      = 5
	cinnamonIntervals = 50
	cinnamonAnew      = time.Minute
	cinnamonVeto      = 0.9
)

func newCinnamon() *cinnamon {
	return &cinnamon{
		limit: cinnamonInitial, recent: lately{most: cinnamonMedian}, smooth: newAverage(cinnamonMean, 1),
		inflight: lately{most: cinnamonIntervals}, throughput: lately{most: cinnamonIntervals},
	}
}

func (c *cinnamon) Limit() int { return int(c.limit) }

func (c *cinnamon) Observe(s pid.Sample) { c.seen.add(s) }

func (c *cinnamon) Tick(now time.Duration, u pid.Usage) {
	if now-c.start < time.Second || len(c.seen.service) < cinnamonSamples {
		return
	}
	busy := (u.Area - c.area) / (now - c.start).Seconds()
	c.recent.add(c.seen.quantile(cinnamonQuantile))
	service := c.smooth.add(c.recent.median())
	if now >= c.anew {
		c.target = service
		c.anew = now + time.Duration((0.5+u.Chance)*float64(cinnamonAnew))
	}
	c.update(service, busy)
	c.seen.reset()
	c.start, c.area = now, u.Area
}

func (c *cinnamon) update(service, busy float64) {
	c.inflight.add(busy)
	c.throughput.add(busy / service) // Little's law
	tolerance := 1 + 1/math.Sqrt(c.limit)
	gradient := min(max(tolerance*c.target/service, 0.5), 1)
	next := gradient*c.limit + math.Sqrt(c.limit)
	switch {
	case len(c.inflight.values) == cinnamonIntervals && covariance(&c.inflight, &c.throughput) < 0:
		next = min(next, cinnamonVeto*c.limit)
	case next > c.limit && busy < 0.5*c.limit:
		next = c.limit
	}
	c.limit = min(max(next, 1), cinnamonMax)
}
