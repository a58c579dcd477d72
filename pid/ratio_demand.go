package pid

import (
	"math"
	"time"
)

// demand is what a lane is asked for and what it can do, as measured.
type demand struct {
	lambda float64 // arrivals per second, smoothed
	jumps  int     // periods in a row whose arrivals were off by far

	out, used float64 // smoothed grants per second, share of the slots taken
	mu        float64 // capacity of the whole limit, per second
	level     float64 // smoothed room: limit + wanted queue - queue - inflight
	push      float64 // per second, brings the level back to zero

	armed float64 // seconds for which a loss still counts
	quiet bool    // the queue carries too few requests for a ratio to be calm
}

// lossCounts is for how many seconds the queue's last loss counts.
const lossCounts = 0.5

// measure takes in a period. A limit that is lowered to measure something says
// nothing about capacity: that and the level stay.
func (d *demand) measure(dt time.Duration, f Flow) {
	sec := min(dt.Seconds(), 0.5)
	d.follow(float64(f.In+f.Rejected)/dt.Seconds(), sec)
	if d.armed = max(d.armed-sec, 0); f.Lost > 0 {
		d.armed = lossCounts
	}
	if !f.Probing {
		d.capacity(float64(f.Out)/dt.Seconds(), sec, f)
		d.room(sec, f)
	}
}

// follow tracks the arrival rate slowly, and jumps with it when two periods in
// a row are off by more than chance explains. A fall cannot be off by more than
// there was: at five standard deviations a rate of less than 260/s never fell at
// once, and the gate went on shedding when a burst had ended.
func (d *demand) follow(rate, sec float64) {
	if d.lambda == 0 {
		d.lambda = rate
	}
	sigmas := 5.0
	if rate < d.lambda {
		sigmas = 3
	}
	far := math.Abs(rate-d.lambda)*sec > sigmas*math.Sqrt(d.lambda*sec+1) &&
		(rate > 1.5*d.lambda || rate < 0.67*d.lambda)
	if !far {
		d.jumps = 0
	} else if d.jumps++; d.jumps >= 2 {
		d.jumps, d.lambda = 0, rate
		return
	}
	d.lambda += smooth(sec, max(1, 20/d.lambda)) * (rate - d.lambda)
}

// capacity measures mu by Little's law, which holds below saturation too:
// what the slots in use let through, scaled to all slots. What is averaged is
// the share of slots in use, not their number: that would call the capacity
// halved for a second whenever a small limit is, and shed what could be served.
func (d *demand) capacity(out, sec float64, f Flow) {
	tau := 1.0
	if d.mu > 0 {
		tau = max(1, 20/d.mu)
	}
	if f.Limit <= 0 { // it rests: nothing is let through, nothing can be measured
		d.mu = 0
		return
	}
	d.out += smooth(sec, tau) * (out - d.out)
	d.used += smooth(sec, tau) * (f.Inflight/float64(f.Limit) - d.used)
	if d.used > 0.05 {
		d.mu = d.out / d.used
	}
	carried := d.mu * f.Allowance.Seconds()
	switch {
	case carried > 6:
		d.quiet = false
	case carried < 4:
		d.quiet = true
	}
}

// room follows how far slots and queue are from where they should be: all slots
// taken, and 0.3 of what the queue can carry waiting.
func (d *demand) room(sec float64, f Flow) {
	horizon := 1.0
	if d.mu > 0 {
		horizon = max(1, 10/d.mu)
	}
	want := max(1, 0.3*f.Allowance.Seconds()*d.mu)
	room := float64(f.Limit) + want - float64(f.Queued) - f.Inflight
	d.level += smooth(sec, horizon/2) * (room - d.level)
	d.push = d.level / horizon
}

// smooth is the weight of a new value in an exponential average of time
// constant tau.
func smooth(dt, tau float64) float64 { return 1 - math.Exp(-dt/tau) }
