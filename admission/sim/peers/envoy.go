package peers

import (
	"math"
	"time"

	"github.com/spillway-go/spillway/pid"
)

// envoy multiplies the limit every 100 ms with the ratio of a least service
// time, and a quarter, to the present median, within 0.5 and 2, and adds the
// square root for bursts. The least service time is the median of 50 requests
// that began at a limit of 3, to which it goes once a minute, and when the limit
// was 3 five times in a row.
//
// Source: Envoy's adaptive concurrency filter, its documentation and the
// defaults of gradient_controller.cc; the two intervals, which have none, are
// those of the documentation's example.
type envoy struct {
	limit int
	seen  samples
	now   time.Duration

	least    float64 // seconds
	probing  bool
	epoch    time.Duration // of the probe: what began earlier does not count in it
	deferred int           // the limit after it

	probeAt, updateAt time.Duration
	floored           int // updates in a row that left the limit at its floor
}

const (
	envoyMin      = 3
	envoyMax      = 1000
	envoyQuantile = 0.5
	envoyBuffer   = 0.25
	envoyProbe    = 50 // requests
	envoyJitter   = 0.15
	envoyFloored  = 5

	envoyProbeEvery  = time.Minute
	envoyUpdateEvery = 100 * time.Millisecond
)

func newEnvoy() *envoy { return &envoy{limit: envoyMin, deferred: envoyMin, probing: true} }

func (e *envoy) Limit() int { return e.limit }

func (e *envoy) Observe(s pid.Sample) {
	if !e.probing || e.now-s.Service >= e.epoch {
		e.seen.add(s)
	}
}

func (e *envoy) Tick(now time.Duration, u pid.Usage) {
	e.now = now
	switch {
	case e.probing:
		if len(e.seen.service) >= envoyProbe {
			e.least = e.seen.quantile(envoyQuantile)
			e.seen.reset()
			e.limit, e.probing = e.deferred, false
			e.probeAt = now + time.Duration((1+envoyJitter*u.Chance)*float64(envoyProbeEvery))
			e.updateAt = now + envoyUpdateEvery
		}
	case now >= e.probeAt || e.floored >= envoyFloored:
		e.seen.reset()
		e.deferred, e.limit, e.probing = e.limit, envoyMin, true
		e.epoch, e.floored = now, 0
	case now >= e.updateAt:
		e.updateAt = now + envoyUpdateEvery
		if len(e.seen.service) > 0 {
			e.update(e.seen.quantile(envoyQuantile))
			e.seen.reset()
		}
	}
}

func (e *envoy) update(service float64) {
	gradient := min(max((1+envoyBuffer)*e.least/service, 0.5), 2)
	wanted := gradient * float64(e.limit)
	was := e.limit
	e.limit = min(max(int(wanted+math.Sqrt(wanted)), envoyMin), envoyMax)
	if was == envoyMin && e.limit == envoyMin {
		e.floored++
	} else {
		e.floored = 0
	}
}
