package peers

import (
	"math"
	"time"

	"github.com/spillway-go/spillway/pid"
)

// failsafe is Vegas with two more signals. Once a second, after 50 requests, the
// 90th percentile of the service time, smoothed by a median of five and a mean,
// is compared with its mean over a minute; what queues by that is kept between
// three and six steps. While no slot is free the limit also shrinks where, over
// the last 50 windows, throughput falls with the inflight, or the service time
// rises with it and throughput hardly moves.
//
// Source: the adaptive limiter of failsafe-go, its documentation and defaults.
// A guess: "no slot is free" is taken from whether an arrival found none in the
// last tick.
type failsafe struct {
	limit  float64
	seen   samples
	nextAt time.Duration

	recent              lately
	short, long         average
	inflight            lately
	throughput, service lately
	blocked             uint64
}

const (
	failsafeInitial  = 20
	failsafeMax      = 200
	failsafeSamples  = 50
	failsafeQuantile = 0.9
	failsafeMedian   = 5
	failsafeLong     = 60 // windows
	failsafeWarmup   = 10 // windows
	failsafeWindows  = 50 // for correlations
	failsafeFactor   = 5  // times the inflight is the most the limit may be
)

func newFailsafe() *failsafe {
	window := lately{most: failsafeWindows}
	return &failsafe{
		limit: failsafeInitial, recent: lately{most: failsafeMedian},
		short: newAverage(failsafeMedian, failsafeWarmup), long: newAverage(failsafeLong, failsafeWarmup),
		inflight: window, throughput: window, service: window,
	}
}

func (f *failsafe) Limit() int { return int(f.limit) }

func (f *failsafe) Observe(s pid.Sample) { f.seen.add(s) }

func (f *failsafe) Tick(now time.Duration, u pid.Usage) {
	full := u.Blocked > f.blocked
	f.blocked = u.Blocked
	if now < f.nextAt || len(f.seen.service) < failsafeSamples {
		return
	}
	f.nextAt = now + time.Second
	f.recent.add(f.seen.quantile(failsafeQuantile))
	short := f.short.add(f.recent.median())
	f.update(short, f.long.add(short), float64(f.seen.maxIn), full)
	f.seen.reset()
}

func (f *failsafe) update(short, long, inflight float64, full bool) {
	f.inflight.add(inflight)
	f.service.add(short)
	f.throughput.add(inflight / short) // Little's law
	withThroughput, withService := correlation(&f.inflight, &f.throughput), correlation(&f.inflight, &f.service)
	flat := variation(&f.throughput) < 0.2

	step := max(1, math.Floor(math.Log10(f.limit)))
	queue := math.Ceil(f.limit * (1 - long/short))
	change := 0.0
	switch {
	case queue > 6*step,
		full && withThroughput < 0,
		full && withService > 0.5 && (withThroughput < 0.3 || flat):
		change = -step
	case queue < 3*step:
		change = step
	}
	if f.limit+change > failsafeFactor*inflight {
		change = -step
	}
	f.limit = min(max(f.limit+change, 1), failsafeMax)
}

// correlation is 0 before the warm-up, and where one of the two hardly moves.
func correlation(x, y *lately) float64 {
	const still = 0.01
	if len(x.values) < failsafeWarmup || variation(x) < still || variation(y) < still {
		return 0
	}
	return covariance(x, y) / math.Sqrt(covariance(x, x)*covariance(y, y))
}
