package pid

import (
	"math"
	"time"
)

// vegas estimates how many of the requests in flight queue inside the back end,
// limit * (1 - baseline/service time), and moves the limit by steps to keep them
// between three and six, more where the limit has more digits. The baseline is
// the least mean service time of a second; it is measured anew at random, once
// in some twenty windows per slot, at whatever load there is.
//
// Steps of one to three slots a second make it slow with large limits, and a
// baseline measured under load lets it drift upwards.
//
// The original cuts after every second in which one request was lost. At
// hundreds of requests a second some client always gives up: in simulation that
// kept the limit far too low, and the median regret of 20 scenarios rose from 3
// to 26 %. Here the lost must be the majority.
//
// Source: Brakmo, O'Malley & Peterson, "TCP Vegas: New Techniques for
// Congestion Detection and Avoidance" (1994), at the constants of VegasLimit
// in Netflix' concurrency-limits (2018), in windows of its WindowedLimit.
type vegas struct {
	least   float64 // the baseline, seconds; 0: none yet
	windows float64 // since it was measured anew
	jitter  float64 // of the next time, 0.5 to 1; 0: not drawn yet
}

const (
	vegasAlpha = 3  // times the step: fewer that queue let the limit grow
	vegasBeta  = 6  // times the step: more let it shrink
	vegasProbe = 30 // windows per slot between new baselines
)

func (*vegas) full(samples int, elapsed time.Duration) bool { return second(samples, elapsed) }

func (v *vegas) baseline() float64 { return v.least }

func (v *vegas) next(limit float64, w *window, chance float64) (float64, string) {
	step := max(1, math.Floor(math.Log10(limit)))
	if w.n == 0 {
		return limit - step, "cut: overload"
	}
	service := w.mean()
	if why := v.learn(service, limit, chance); why != "" {
		return limit, why
	}
	queue := math.Ceil(limit * (1 - v.least/service))
	switch {
	case w.bad > w.n:
		return limit - step, "cut: overload"
	case 2*float64(w.maxIn) < limit:
		return limit, "hold: the limit is not half used"
	case queue <= step:
		return limit + vegasBeta*step, "grow: nothing queues in the back end"
	case queue < vegasAlpha*step:
		return limit + step, "grow: little queues in the back end"
	case queue > vegasBeta*step:
		return limit - step, "cut: much queues in the back end"
	}
	return limit, "hold: as much queues in the back end as should"
}

// learn moves the baseline, and then says why.
func (v *vegas) learn(service, limit, chance float64) (why string) {
	if v.jitter == 0 {
		v.jitter = 0.5 + 0.5*chance
	}
	v.windows++
	switch {
	case v.windows >= v.jitter*vegasProbe*limit:
		v.least, v.windows, v.jitter = service, 0, 0
		return "hold: baseline measured anew"
	case v.least == 0 || service < v.least:
		v.least = service
		return "hold: baseline lowered"
	}
	return ""
}
