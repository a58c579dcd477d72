package pid_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/pid"
)

func ExampleController() {
	// Sheds a share of the arrivals while pressure is above 1.
	c, err := pid.New(pid.Config{KP: 0.1, KI: 1.4, Min: 0, Max: 1, Reverse: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, pressure := range []float64{0.9, 1.2, 1.2, 1.1, 0.8} {
		fmt.Printf("pressure %.1f: shed %.3f\n", pressure, c.Step(1, pressure, 500*time.Millisecond))
	}
	// Output:
	// pressure 0.9: shed 0.000
	// pressure 1.2: shed 0.160
	// pressure 1.2: shed 0.300
	// pressure 1.1: shed 0.360
	// pressure 0.8: shed 0.190
}

func newController(t testing.TB, cfg pid.Config) *pid.Controller {
	t.Helper()
	c, err := pid.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// act is one line of a timeline: something done to the controller, then
// a Step whose output is stated.
type act struct {
	why      string
	before   func(*pid.Controller)
	setpoint float64
	measured float64
	dt       time.Duration
	want     float64
}

func TestControllerTimelines(t *testing.T) {
	const s = time.Second
	nan, inf := math.NaN(), math.Inf(1)
	wide := func(cfg pid.Config) pid.Config { cfg.Min, cfg.Max = -100, 100; return cfg }
	set := func(cfg pid.Config) func(*pid.Controller) {
		return func(c *pid.Controller) {
			if err := c.SetConfig(cfg); err != nil {
				t.Error(err)
			}
		}
	}
	track := func(out float64) func(*pid.Controller) { return func(c *pid.Controller) { c.Track(out) } }
	reset := func(out float64) func(*pid.Controller) { return func(c *pid.Controller) { c.Reset(out) } }

	for name, tl := range map[string]struct {
		cfg  pid.Config
		acts []act
	}{
		"each term by itself": {wide(pid.Config{KP: 2}), []act{
			{"P is KP times the error", nil, 5, 2, s, 6},
			{"and has no memory", nil, 5, 5, s, 0},
			{"I adds KI times error times dt", set(wide(pid.Config{KI: 3})), 1, 0, s / 2, 1.5},
			{"whatever the dt", nil, 1, 0, s / 4, 2.25},
			{"and stays when the error is gone", nil, 0, 0, s, 2.25},
			{"D acts against the measured change", func(c *pid.Controller) { set(wide(pid.Config{KD: 2}))(c); c.Reset(0) }, 0, 1, s, 0},
			{"per second", nil, 0, 2, s / 2, -4},
			{"not against a moved setpoint", nil, 50, 2, s, 0},
		}},
		"reverse": {wide(pid.Config{KP: 1, KI: 1, KD: 1, Reverse: true}), []act{
			{"too high asks for more", nil, 1, 3, s, 2 + 2},
			{"and rising for more still", nil, 1, 4, s, 3 + 5 + 1},
			{"too low asks for less", nil, 1, 0, s, -1 + 4 - 4},
		}},
		"dt": {wide(pid.Config{KI: 1, KD: 1}), []act{
			{"a long first step counts as a second", nil, 1, 0, time.Hour, 1},
			{"a long second one is the period of this loop", nil, 1, 0, time.Minute, 61},
			{"an ordinary step", set(wide(pid.Config{KI: 0.1})), 1, 0, s, 61.1},
			{"a pause counts as twice the step before", nil, 1, 0, time.Hour, 61.3},
			{"an ordinary one is ordinary again", nil, 1, 0, s, 61.4},
			{"no time: nothing happens", nil, 9, 9, 0, 61.4},
			{"time runs backwards: nothing happens", nil, 9, 9, -s, 61.4},
			{"a nanosecond", nil, 1, 0, 1, 61.4},
			{"does not spoil the next step", nil, 1, 0, s, 61.5},
			{"the longest there is", nil, 1, 0, math.MaxInt64, 61.7},
			{"D divides by all of dt", func(c *pid.Controller) { set(wide(pid.Config{KD: 1}))(c); c.Reset(0); c.Step(0, 0, s) }, 0, 50, 10 * s, -5},
		}},
		"bad readings": {wide(pid.Config{KP: 1, KI: 1, KD: 1}), []act{
			{"none yet", nil, 1, nan, s, 0},
			{"good", nil, 1, 0, s, 2},
			{"NaN measured", nil, 1, nan, s, 2},
			{"+Inf measured", nil, 1, inf, s, 2},
			{"-Inf measured", nil, 1, -inf, s, 2},
			{"NaN setpoint", nil, nan, 0, s, 2},
			{"Inf setpoint", nil, inf, 0, s, 2},
			{"tracking NaN", track(nan), 1, nan, s, 2},
			{"tracking Inf", track(-inf), 1, nan, s, 2},
			{"reset to NaN", reset(nan), 1, nan, s, 2},
			{"good again, as if nothing had been", nil, 1, 0, s, 3},
		}},
		"tracking": {pid.Config{KP: 0.5, KI: 0.1, Max: 1}, []act{
			{"asks for little", nil, 1, 0.8, s, 0.12},
			{"goes on from what binds", track(0.7), 1, 0.8, s, 0.72},
			{"holds its own output while it has no reading", track(0.9), nan, nan, s, 0.72},
			{"and goes on from what binds after that", nil, 1, 0.8, s, 0.92},
			{"a changed error is answered at once", track(0.5), 1, 0.6, s, 0.5 + 0.1 + 0.04},
			{"out of bounds is the bound", track(7), 1, 0.6, s, 1},
		}},
		"tracking before the first step": {pid.Config{KP: 0.5, KI: 0.1, Max: 1}, []act{
			{"starts at what binds, P included", track(0.7), 1, 0.8, s, 0.72},
		}},
		"tracking lets a passing D go": {wide(pid.Config{KD: 1}), []act{
			{"at rest", nil, 0, 0, s, 0},
			{"rising", nil, 0, 3, s, -3},
			{"tracks, and stands still", track(10), 0, 3, s, 10},
		}},
		"reset": {pid.Config{KP: 0.5, KI: 0.1, KD: 1, Max: 1}, []act{
			{"starts at out whatever P is", reset(0.6), 1, 0.2, s, 0.6 + 0.08},
			{"then as ever", nil, 1, 0.2, s, 0.6 + 0.16},
			{"forgets the measurement", reset(0.3), 1, 0.9, s, 0.3 + 0.01},
			{"is what is returned without a reading", reset(0.4), 1, nan, s, 0.4},
			{"is held in bounds", reset(-3), 1, 1, s, 0},
		}},
		"new gains, no jump": {wide(pid.Config{KP: 1, KI: 1}), []act{
			{"running", nil, 2, 0, s, 4},
			{"KI does not change where the integrator stands", set(wide(pid.Config{KP: 1, KI: 100})), 0, 0, s, 2},
			{"error again", set(wide(pid.Config{KP: 1})), 2, 0, s, 4},
			{"KP's part moves to the integrator", set(wide(pid.Config{KP: 5})), 2, 0, s, 4},
			{"and works from here on", nil, 3, 0, s, 9},
			{"Reverse turned", set(wide(pid.Config{KP: 5, Reverse: true})), 3, 0, s, 9},
			{"back to the first gains", set(wide(pid.Config{KP: 1})), 3, 0, s, 9},
			{"bounds bind at once", set(pid.Config{KP: 1, Min: 0, Max: 5}), nan, nan, s, 5},
			{"and leave when they widen", set(wide(pid.Config{KP: 1})), 0, 0, s, 5},
		}},
		"zero outside the bounds": {pid.Config{KP: 1, Min: 10, Max: 500}, []act{
			{"starts at the nearest bound", nil, 0, nan, s, 10},
			{"and regulates from there", nil, 7, 0, s, 17},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newController(t, tl.cfg)
			for i, a := range tl.acts {
				if a.before != nil {
					a.before(c)
				}
				if got := c.Step(a.setpoint, a.measured, a.dt); math.Abs(got-a.want) > 1e-6 {
					t.Fatalf("act %d, %s: Step(%v, %v, %v) = %v, want %v (terms %+v)",
						i, a.why, a.setpoint, a.measured, a.dt, got, a.want, c.Terms())
				}
			}
		})
	}
}

func TestControllerTerms(t *testing.T) {
	c := newController(t, pid.Config{KP: 1, KI: 2, KD: 3, Min: -1, Max: 10})
	c.Step(1, 0, time.Second)
	c.Step(4, 1, time.Second)
	want := pid.Terms{P: 3, I: 8, D: -3, Out: 8}
	if got := c.Terms(); got != want {
		t.Errorf("Terms() = %+v, want %+v", got, want)
	}
	c.Track(5)
	if got := c.Terms(); got != want {
		t.Errorf("after Track, Terms() = %+v, want those of the last Step, %+v", got, want)
	}
}

func TestControllerConfigErrors(t *testing.T) {
	good := pid.Config{KP: 1, Max: 1}
	nan := math.NaN()
	for name, tc := range map[string]struct {
		cfg  pid.Config
		want []string // one part of each line
	}{
		"zero":     {pid.Config{}, []string{"pid: Min is 0, must be below Max, which is 0"}},
		"crossed":  {pid.Config{Min: 2, Max: 1}, []string{"Min is 2, must be below Max, which is 1"}},
		"negative": {pid.Config{KI: -1, Max: 1}, []string{"KI is -1, must be at least 0"}},
		"all at once": {pid.Config{KP: nan, KI: math.Inf(1), KD: -2, Min: nan, Max: math.Inf(-1)}, []string{
			"KP is NaN", "KI is +Inf", "KD is -2", "Min is NaN", "Max is -Inf",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newController(t, good)
			out := c.Step(0.5, 0, time.Second)
			_, errNew := pid.New(tc.cfg)
			for _, err := range []error{tc.cfg.Validate(), errNew, c.SetConfig(tc.cfg)} {
				if err == nil {
					t.Fatal("no error")
				}
				lines := strings.Split(err.Error(), "\n")
				if len(lines) != len(tc.want) {
					t.Fatalf("got %q, want %d problems", lines, len(tc.want))
				}
				for i, want := range tc.want {
					if !strings.HasPrefix(lines[i], "pid: ") || !strings.Contains(lines[i], want) {
						t.Errorf("line %d is %q, want %q", i, lines[i], want)
					}
				}
			}
			if got := c.Step(0.5, 0, time.Second); got != out {
				t.Errorf("a refused config changed the output from %v to %v", out, got)
			}
		})
	}
	if err := good.Validate(); err != nil {
		t.Errorf("a good config: %v", err)
	}
}

func TestControllerZeroValue(t *testing.T) {
	var c pid.Controller
	if got := c.Step(5, 1, time.Second); got != 0 {
		t.Errorf("Step of the zero Controller = %v, want 0", got)
	}
}
