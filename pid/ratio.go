package pid

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// RatioPeriod is how often a ShedRatio's Tick is called.
const RatioPeriod = 100 * time.Millisecond

// GateConfig configures the gate of a lane. The zero value is the
// feed-forward law.
type GateConfig struct {
	// Law is how the shed ratio is found: "ff" (the default, see [ShedRatio])
	// or "off": the lane's own queue asks for no shedding, only signals do.
	Law string `json:"law"`
}

var gateLaws = []string{"ff", "off"}

// WithDefaults fills in what was left empty.
func (c GateConfig) WithDefaults() GateConfig {
	if c.Law == "" {
		c.Law = gateLaws[0]
	}
	return c
}

// Validate reports what is wrong.
func (c GateConfig) Validate() error {
	if c.Law != "" && !slices.Contains(gateLaws, c.Law) {
		return fmt.Errorf("pid: gate law is %q: must be one of %s", c.Law, strings.Join(gateLaws, ", "))
	}
	return nil
}

// Flow is what passed a lane in one period.
type Flow struct {
	In, Rejected, Out uint64 // arrivals past the gate, shed by it, granted: requests
	Lost              uint64 // the queue expired, evicted or refused

	Inflight  float64       // mean slots taken
	Limit     int           // slots; 0 while the limit rests
	Queued    int           // waiters now
	Allowance time.Duration // how long a typical waiter may wait
	Probing   bool          // the limit is lowered to measure something
}

// ShedRatio is the gate's default law, feed-forward: both the arrival rate
// lambda and the capacity mu are measured, so the share to shed, 1 - a/lambda,
// needs no integrator that could wind up and no gain that depends on load. It
// lets through a little more than capacity (a = 1.2 mu and a term that drains
// the queue's error within T), since a queue with priorities and eviction uses
// that surplus better than the gate could; and it is armed only when the queue
// has lost somebody lately: what the queue can carry is never shed.
//
// The zero value is ready; it is pure and not safe for concurrent use.
type ShedRatio struct {
	ratio  float64
	lambda float64 // arrivals per second, smoothed
	jumps  int     // periods in a row whose arrivals were off by far

	out, used float64 // smoothed grants per second, share of the slots taken
	mu        float64 // capacity of the whole limit, per second
	level     float64 // smoothed room: limit + wanted queue - queue - inflight
	push      float64 // per second, brings the level back to zero

	armed float64 // seconds for which a loss still counts
	quiet bool    // the queue carries too few requests for a ratio to be calm
}

const (
	ratioMax      = 0.99 // never all: some must get through to be measured
	ratioMin      = 0.01
	ratioArmed    = 0.5 // seconds for which a loss counts
	ratioMargin   = 0.2 // let through beyond capacity
	ratioMarginUp = 0.5 // the same while nobody waits

	// The same while the queue carries so few that no ratio is calm: there the
	// queue does better alone, and the gate only keeps the flood from it. With
	// the gate off a lane of 60/s at ten times its capacity spent a third of its
	// processor on waiters that came to nothing.
	ratioMarginQuiet = 1.0
)

// Ratio is the share of arrivals to shed, 0 to 0.99.
func (s *ShedRatio) Ratio() float64 { return s.ratio }

// Rates are the smoothed arrivals per second and the capacity per second, 0
// while unknown: what a demand metric is made of.
func (s *ShedRatio) Rates() (lambda, mu float64) { return s.lambda, s.mu }

// Tick takes in what passed since the last one and returns the new ratio.
// dt is bounded to half a second: a longer gap was no steady flow.
func (s *ShedRatio) Tick(dt time.Duration, f Flow) float64 {
	if dt <= 0 {
		return s.ratio
	}
	if !finite(f.Inflight) {
		s.ratio = 0 // it would never leave the averages again
		return 0
	}
	sec := min(dt.Seconds(), 0.5)
	s.follow(float64(f.In+f.Rejected)/dt.Seconds(), sec)
	if s.armed = max(s.armed-sec, 0); f.Lost > 0 {
		s.armed = ratioArmed
	}
	r := s.ratio
	if f.Probing {
		// The lowered limit says nothing about capacity, so that and the level
		// stay. But overload that begins in a probe must not wait for its end.
		if s.armed > 0 {
			r = max(r, s.feedForward(f))
		}
	} else {
		s.capacity(float64(f.Out)/dt.Seconds(), sec, f)
		r = s.wanted(sec, f)
	}
	used := s.used
	if f.Probing {
		used = f.Inflight / float64(max(f.Limit, 1)) // the average stands still
	}
	switch {
	case s.ratio == 0 && s.armed == 0:
		r = 0
	case used < 0.5:
		// Half the slots are free: whatever the level says, shed less. Without
		// this the gate can starve the lane it protects and never notice.
		r = min(r, 0.7*s.ratio)
	}
	if !(r >= ratioMin) { // also NaN
		r = 0
	}
	s.ratio = r
	return r
}

// follow tracks the arrival rate slowly, and jumps with it when two periods in
// a row are off by more than chance explains.
func (s *ShedRatio) follow(rate, sec float64) {
	if s.lambda == 0 {
		s.lambda = rate
	}
	far := math.Abs(rate-s.lambda)*sec > 5*math.Sqrt(s.lambda*sec+1) &&
		(rate > 1.5*s.lambda || rate < 0.67*s.lambda)
	if !far {
		s.jumps = 0
	} else if s.jumps++; s.jumps >= 2 {
		s.jumps, s.lambda = 0, rate
		return
	}
	s.lambda += smooth(sec, max(1, 20/s.lambda)) * (rate - s.lambda)
}

// capacity measures mu by Little's law, which holds below saturation too:
// what the slots in use let through, scaled to all slots. What is averaged is
// the share of slots in use, not their number: that would call the capacity
// halved for a second whenever a small limit is, and shed what could be served.
func (s *ShedRatio) capacity(out, sec float64, f Flow) {
	tau := 1.0
	if s.mu > 0 {
		tau = max(1, 20/s.mu)
	}
	if f.Limit <= 0 { // it rests: nothing is let through, nothing can be measured
		s.mu = 0
		return
	}
	s.out += smooth(sec, tau) * (out - s.out)
	s.used += smooth(sec, tau) * (f.Inflight/float64(f.Limit) - s.used)
	if s.used > 0.05 {
		s.mu = s.out / s.used
	}
	carried := s.mu * f.Allowance.Seconds()
	switch {
	case carried > 6:
		s.quiet = false
	case carried < 4:
		s.quiet = true
	}
}

func (s *ShedRatio) wanted(sec float64, f Flow) float64 {
	horizon := 1.0
	if s.mu > 0 {
		horizon = max(1, 10/s.mu)
	}
	want := max(1, 0.3*f.Allowance.Seconds()*s.mu)
	room := float64(f.Limit) + want - float64(f.Queued) - f.Inflight
	s.level += smooth(sec, horizon/2) * (room - s.level)
	s.push = s.level / horizon
	return s.feedForward(f)
}

// feedForward is the law: let through what the lane can do, a margin, and what
// brings the level back.
func (s *ShedRatio) feedForward(f Flow) float64 {
	if s.lambda <= 0 || s.mu <= 0 {
		return 0 // capacity unknown means open, or the gate locks itself
	}
	margin := ratioMargin
	switch {
	case s.quiet:
		margin = ratioMarginQuiet
	case f.Queued == 0:
		margin = ratioMarginUp
	}
	return min(max(1-((1+margin)*s.mu+s.push)/s.lambda, 0), ratioMax)
}

// smooth is the weight of a new value in an exponential average of time
// constant tau.
func smooth(dt, tau float64) float64 { return 1 - math.Exp(-dt/tau) }
