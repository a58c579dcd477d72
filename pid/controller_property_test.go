package pid_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spillway-go/spillway/pid"
)

// shedding is what a signal's controller is: it sheds while pressure is above 1.
var shedding = pid.Config{KP: 0.1, KI: 1.4, Min: 0, Max: 1, Reverse: true}

// wildFloat draws from the ordinary and from the edges of float64.
func wildFloat(r *rand.Rand) float64 {
	edges := []float64{
		0, math.Copysign(0, -1), 1, -1, math.NaN(), math.Inf(1), math.Inf(-1),
		math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 1e308, -1e308,
	}
	switch r.IntN(3) {
	case 0:
		return edges[r.IntN(len(edges))]
	case 1:
		return math.Float64frombits(r.Uint64())
	default:
		return r.NormFloat64()
	}
}

// wildConfig draws a valid Config.
func wildConfig(r *rand.Rand) pid.Config {
	for {
		cfg := pid.Config{
			KP: math.Abs(wildFloat(r)), KI: math.Abs(wildFloat(r)), KD: math.Abs(wildFloat(r)),
			Min: wildFloat(r), Max: wildFloat(r), Reverse: r.IntN(2) == 0,
		}
		if cfg.Validate() == nil {
			return cfg
		}
	}
}

func checkBounded(t *testing.T, cfg pid.Config, c *pid.Controller, out float64) {
	t.Helper()
	terms := c.Terms()
	// The negated form also catches NaN.
	if !(out >= cfg.Min && out <= cfg.Max) || !(terms.I >= cfg.Min && terms.I <= cfg.Max) ||
		terms.Out != out || math.IsNaN(terms.P) || math.IsNaN(terms.D) {
		t.Fatalf("%+v: output %v, terms %+v", cfg, out, terms)
	}
}

func TestControllerBoundedWhateverIsFed(t *testing.T) {
	const seed = 1
	r := rand.New(rand.NewPCG(seed, seed))
	for range 2000 {
		cfg := wildConfig(r)
		c := newController(t, cfg)
		for range 100 {
			switch r.IntN(8) {
			case 0:
				c.Track(wildFloat(r))
			case 1:
				c.Reset(wildFloat(r))
			case 2:
				cfg = wildConfig(r)
				if err := c.SetConfig(cfg); err != nil {
					t.Fatal(err)
				}
				c.Step(0, 0, time.Second)
			}
			out := c.Step(wildFloat(r), wildFloat(r), time.Duration(r.Int64()>>r.IntN(63))-time.Duration(r.IntN(3)))
			checkBounded(t, cfg, c, out)
		}
	}
}

// A controller held at a bound for ten minutes leaves it as soon as the error
// turns: what it could not act on, it has not saved up.
func TestControllerDoesNotWindUp(t *testing.T) {
	const seed = 2
	r := rand.New(rand.NewPCG(seed, seed))
	for range 200 {
		cfg := pid.Config{KP: r.Float64(), KI: 0.2 + 2*r.Float64(), KD: 0.1 * r.Float64(), Min: -1, Max: 1, Reverse: r.IntN(2) == 0}
		high := r.IntN(2) == 0
		measured, bound := 2.0, cfg.Min
		if cfg.Reverse {
			bound = cfg.Max
		}
		if high {
			measured, bound = -measured, -bound
		}
		c := newController(t, cfg)
		dt := 100*time.Millisecond + time.Duration(r.Int64N(int64(time.Second)))
		var out float64
		for elapsed := time.Duration(0); elapsed < 10*time.Minute; elapsed += dt {
			out = c.Step(0, measured, dt)
		}
		if out != bound {
			t.Fatalf("%+v: output %v after ten minutes of error, want the bound %v", cfg, out, bound)
		}
		if out = c.Step(0, -measured/4, dt); math.Abs(out-bound) < 1e-9 {
			t.Fatalf("%+v, dt %v: still at %v one step after the error turned, terms %+v", cfg, dt, out, c.Terms())
		}
	}
}

// With integration skipped while saturated, an output held at a bound by the
// integrator would stay there for ever: the error that asks to leave is not
// taken in. Here P is far too weak to leave the bound by itself.
func TestControllerLeavesBoundsByIntegrating(t *testing.T) {
	for _, away := range []float64{1e-3, -1e-3} {
		c := newController(t, pid.Config{KP: 1e-9, KI: 1, Min: -1, Max: 1})
		for range 100 {
			c.Step(0, 1000*away, time.Second) // to one bound
		}
		start := c.Terms().Out
		for range 500 {
			c.Step(away, 0, time.Second)
		}
		if moved := math.Abs(c.Terms().Out - start); math.Abs(moved-0.5) > 1e-6 {
			t.Errorf("error %v for 500 s moved the output from %v by %v, want 0.5", away, start, moved)
		}
	}
}

// Wherever a controller is, SetConfig and Track hand over without a jump: with
// the integrator off and the inputs as they were, the output is as it was.
func TestControllerHandsOverWithoutJump(t *testing.T) {
	const seed = 3
	r := rand.New(rand.NewPCG(seed, seed))
	for range 2000 {
		gains := func(ki float64) pid.Config {
			return pid.Config{KP: r.Float64(), KI: ki, KD: r.Float64(), Min: -1000, Max: 1000, Reverse: r.IntN(2) == 0}
		}
		c := newController(t, gains(r.Float64()))
		setpoint, measured := r.NormFloat64(), 0.0
		for range 20 {
			measured = r.NormFloat64()
			c.Step(setpoint, measured, time.Second)
		}
		before := c.Step(setpoint, measured, 1) // at rest: D is gone, I hardly moves
		if err := c.SetConfig(gains(0)); err != nil {
			t.Fatal(err)
		}
		if after := c.Step(setpoint, measured, time.Second); math.Abs(after-before) > 1e-6 {
			t.Fatalf("SetConfig: from %v to %v", before, after)
		}
		to := 100 * r.NormFloat64()
		c.Track(to)
		if after := c.Step(setpoint, measured, time.Second); math.Abs(after-to) > 1e-6 {
			t.Fatalf("Track(%v): went on from %v", to, after)
		}
		c.Reset(-to)
		if after := c.Step(r.NormFloat64(), r.NormFloat64(), time.Second); math.Abs(after+to) > 1e-6 {
			t.Fatalf("Reset(%v): went on from %v", -to, after)
		}
	}
}

// A first-order plant, dy/dt = (gain*u + disturbance - y) / tau, sampled with
// jitter: the loop settles on the setpoint, and again after each disturbance.
func TestControllerSettlesFirstOrderPlant(t *testing.T) {
	const seed = 4
	r := rand.New(rand.NewPCG(seed, seed))
	c := newController(t, pid.Config{KP: 0.8, KI: 0.8, KD: 0.05, Min: 0, Max: 10})
	y, u, tau := 0.0, 0.0, 2.0
	for _, phase := range []struct {
		why                             string
		setpoint, disturbance, settleAt float64
	}{
		{"start", 3, 0, 3},
		{"setpoint moves", 5, 0, 5},
		{"disturbance", 5, -4, 5},
		{"out of reach for a minute", 30, 0, 15},
		{"back in reach", 4, 2, 4},
	} {
		var peak float64
		for elapsed := 0.0; elapsed < 60; {
			dt := 0.1 * (0.9 + 0.2*r.Float64())
			// Exact over a step of constant input.
			target := 1.5*u + phase.disturbance
			y = target + (y-target)*math.Exp(-dt/tau)
			elapsed += dt
			u = c.Step(phase.setpoint, y, time.Duration(dt*float64(time.Second)))
			peak = max(peak, y)
			if elapsed > 15 && math.Abs(y-phase.settleAt) > 0.05 {
				t.Fatalf("%s: at %.1f s y = %.3f, want %v", phase.why, elapsed, y, phase.settleAt)
			}
		}
		if phase.why == "start" && peak > 1.15*phase.settleAt {
			t.Errorf("%s: overshoots to %.2f", phase.why, peak)
		}
	}
}

func FuzzControllerStep(f *testing.F) {
	f.Add(0.1, 1.4, 0.0, 0.0, 1.0, true, []byte{})
	f.Add(1e308, 1e308, 1e308, -1e308, 1e308, false, binary.LittleEndian.AppendUint64(make([]byte, 24), math.Float64bits(1e308)))
	f.Fuzz(func(t *testing.T, kp, ki, kd, lo, hi float64, reverse bool, inputs []byte) {
		cfg := pid.Config{KP: kp, KI: ki, KD: kd, Min: lo, Max: hi, Reverse: reverse}
		c, err := pid.New(cfg)
		if err != nil {
			return
		}
		word := func() uint64 {
			var w [8]byte
			inputs = inputs[copy(w[:], inputs):]
			return binary.LittleEndian.Uint64(w[:])
		}
		for len(inputs) > 0 {
			setpoint, measured := math.Float64frombits(word()), math.Float64frombits(word())
			dt := time.Duration(word())
			switch dt % 5 {
			case 3:
				c.Track(measured)
			case 4:
				c.Reset(measured)
			}
			checkBounded(t, cfg, c, c.Step(setpoint, measured, dt))
		}
	})
}

func TestControllerDoesNotAllocate(t *testing.T) {
	c := newController(t, shedding)
	if n := testing.AllocsPerRun(1000, func() {
		c.Step(1, 1.1, time.Second)
		c.Track(0.5)
		c.Reset(0.5)
		_ = c.Terms()
		_ = c.SetConfig(shedding)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkControllerStep(b *testing.B) {
	c := newController(b, shedding)
	b.ReportAllocs()
	for b.Loop() {
		c.Step(1, 1.01, 500*time.Millisecond)
	}
}
