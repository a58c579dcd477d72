package core

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// resource is what a signal watches: its pressure follows what passes, at once or
// with a time constant, and is read with some noise.
type resource struct {
	signal *Signal
	lag    time.Duration
	noise  float64
	rng    *rand.Rand

	pressure float64
	ratios   series
}

func newResource(t *testing.T, lag time.Duration, noise float64, seed uint64) *resource {
	return &resource{signal: newSignal(t, 1), lag: lag, noise: noise, rng: rand.New(rand.NewPCG(seed, 1))}
}

// run offers x(t) times the capacity for d, polled each 500 ms give or take 10 %.
func (r *resource) run(d time.Duration, x func(t time.Duration) float64) {
	for now := time.Duration(0); now < d; {
		dt := time.Duration(float64(500*ms) * (0.9 + 0.2*r.rng.Float64()))
		passes := x(now) * (1 - r.signal.Ratio())
		if r.lag == 0 {
			r.pressure = passes
		} else {
			r.pressure += (passes - r.pressure) * -math.Expm1(-dt.Seconds()/r.lag.Seconds())
		}
		read := max(0, r.pressure*(1+r.noise*r.rng.NormFloat64()))
		r.signal.Step(read, r.signal.Ratio(), dt)
		r.ratios = append(r.ratios, r.signal.Ratio())
		now += dt
	}
}

func steadily(x float64) func(time.Duration) float64 {
	return func(time.Duration) float64 { return x }
}

// Whatever the load, a step is settled within 5 s and steady from then on: the
// gain does not grow with the load. On the ratio itself the same constants gave a
// spread of 0.39 at 3x.
func TestSignalSettlesWhateverTheLoad(t *testing.T) {
	for _, lag := range []time.Duration{0, 300 * ms, time.Second} {
		for _, noise := range []float64{0, 0.05} {
			for _, x := range []float64{1.2, 1.5, 2, 3, 5, 10, 20, 50} {
				t.Run(fmt.Sprintf("%gx, lag %v, noise %g", x, lag, noise), func(t *testing.T) {
					const seed = 41
					r := newResource(t, lag, noise, seed)
					r.run(30*time.Second, steadily(0.5))
					if got := r.signal.Ratio(); got != 0 {
						t.Errorf("half the load, and the ratio is %v", got)
					}
					r.ratios = nil
					r.run(60*time.Second, steadily(x))
					steady, want := r.ratios[12:], 1-1/x // 12 periods are at least 5.4 s, 10 at least 4.5 s
					if math.Abs(steady.mean()-want) > 0.02 || steady.sd() > 0.05 {
						t.Errorf("from 5 s on the ratio is %.3f in the mean, sd %.3f, want %.3f, sd at most 0.05 (seed %d)", steady.mean(), steady.sd(), want, seed)
					}
					r.ratios = nil
					r.run(10*time.Second, steadily(0.5))
					for i, ratio := range r.ratios[12:] {
						if ratio > 0 {
							t.Fatalf("%d periods after the load fell to half the ratio is %.3f", 12+i, ratio)
						}
					}
				})
			}
		}
	}
}

// A ramp from half to five times the capacity is followed: what passes stays near
// what is borne, all the way up and down.
func TestSignalFollowsARamp(t *testing.T) {
	r := newResource(t, 300*ms, 0, 42)
	up := func(t time.Duration) float64 { return 0.5 + 4.5*t.Seconds()/60 }
	down := func(t time.Duration) float64 { return 5 - 4.5*t.Seconds()/60 }
	worst := 0.0
	watch := func(x func(time.Duration) float64) func(time.Duration) float64 {
		return func(t time.Duration) float64 { worst = max(worst, r.pressure); return x(t) }
	}
	r.run(time.Minute, watch(up))
	r.run(time.Minute, watch(down))
	t.Logf("highest pressure on the way %.3f", worst)
	if worst > 1.1 {
		t.Errorf("pressure went up to %.2f on a ramp of 7.5 %% a second", worst)
	}
	if r.run(5*time.Second, steadily(0.5)); r.signal.Ratio() != 0 {
		t.Errorf("the ratio is %.3f after the ramp", r.signal.Ratio())
	}
}

// A load that swings slowly is followed; one that swings fast is shed by what it
// is in the mean, without the loop adding to the swing.
func TestSignalUnderAnOscillation(t *testing.T) {
	for _, period := range []time.Duration{2 * time.Second, 5 * time.Second, 20 * time.Second, time.Minute} {
		r := newResource(t, 0, 0, 43)
		wave := func(t time.Duration) float64 {
			return 2 * (1 + 0.2*math.Sin(2*math.Pi*t.Seconds()/period.Seconds()))
		}
		r.run(20*time.Second, wave)
		r.ratios = nil
		r.run(2*time.Minute, wave)
		// What is right swings by itself from 1-1/1.6 to 1-1/2.4, with sd 0.074.
		t.Logf("period %v: ratio %.3f, sd %.3f", period, r.ratios.mean(), r.ratios.sd())
		if m := r.ratios.mean(); math.Abs(m-0.5) > 0.03 || r.ratios.sd() > 0.074+0.05 {
			t.Errorf("period %v: ratio %.3f in the mean, sd %.3f", period, m, r.ratios.sd())
		}
	}
}

// What piles up, a lag or a backlog, answers to what passes with its rate of change.
// The usual gains swing around it for half a minute; with more P and less I, as
// RegulatorConfig advises, it is held within seconds.
func TestSignalHoldsABacklog(t *testing.T) {
	for _, x := range []float64{1.5, 2, 3, 5} {
		for _, gains := range []SignalConfig{{1, SignalKP, SignalKI}, {1, 1, 0.2}} {
			s, err := NewSignal(gains)
			if err != nil {
				t.Fatal(err)
			}
			backlog, ratios := 0.0, series{}
			for range 120 {
				backlog = max(0, backlog+0.5*(x*(1-s.Ratio())-1)) // seconds of work
				s.Step(backlog, s.Ratio(), 500*ms)
				ratios = append(ratios, s.Ratio())
			}
			late := ratios[20:]
			t.Logf("%gx, gains %g and %g: from 10 s on %.3f, sd %.3f", x, gains.KP, gains.KI, late.mean(), late.sd())
			if gains.KP == 1 && (math.Abs(late.mean()-(1-1/x)) > 0.01 || late.sd() > 0.02) {
				t.Errorf("%gx: from 10 s on the ratio is %.3f, sd %.3f, want %.3f", x, late.mean(), late.sd(), 1-1/x)
			}
		}
	}
}
