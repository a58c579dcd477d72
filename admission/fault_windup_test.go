package admission

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/internal/race"
)

// B30: while the output is at its bound the integral keeps growing, so after the
// load is gone the loop goes on shedding for a long time, or the reverse. A signal
// ticks each 500 ms; what it watches bears 100/s.
func TestB30SignalDoesNotWindUp(t *testing.T) {
	long := 10 * time.Minute
	if race.Enabled {
		long = 2 * time.Minute
	}
	const tenTicks = 5*time.Second + 500*time.Millisecond // with the jitter of the polls
	run := func(name string, f func(t *testing.T, c *Controller, w *watched)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWatched(100, act{})
				f(t, NewQuiet(t, Config{}, WithSignal("s", w)), w)
			})
		})
	}
	run("20x, then calm", func(t *testing.T, c *Controller, w *watched) {
		if asked, shed := w.flow(t, c, 20, long); float64(shed) < 0.9*float64(asked) {
			t.Errorf("20x: %d of %d are shed", shed, asked)
		}
		w.flow(t, c, 0.1, tenTicks)
		if asked, shed := w.flow(t, c, 0.1, time.Minute); float64(shed) >= 0.01*float64(asked) {
			t.Errorf("ten ticks after the drop still %d of %d are shed", shed, asked)
		}
	})
	run("calm, then 3x", func(t *testing.T, c *Controller, w *watched) {
		if asked, shed := w.flow(t, c, 0.1, long); shed > 0 {
			t.Errorf("0.1x: %d of %d are shed", shed, asked)
		}
		w.flow(t, c, 3, tenTicks)
		if asked, shed := w.flow(t, c, 3, 5*time.Second); float64(shed) < 0.5*float64(asked) {
			t.Errorf("ten ticks after the rise %d of %d are shed", shed, asked)
		}
	})
	run("steady 2x, gains changed by a reload", func(t *testing.T, c *Controller, w *watched) {
		w.flow(t, c, 2, time.Minute)
		var sum, squares, n float64
		look := func() float64 {
			w.flow(t, c, 2, 500*time.Millisecond)
			r := only(t, c).ShedRatio
			sum, squares, n = sum+r, squares+r*r, n+1
			return r
		}
		last, jump := look(), 0.0
		for _, rc := range []RegulatorConfig{{KP: 0.5, KI: 0.2}, {KP: 0.01, KI: 2}, {}, {Setpoint: 1.05}, {}} {
			if err := c.Apply(Config{Regulators: map[string]RegulatorConfig{"s": rc}}); err != nil {
				t.Fatal(err)
			}
			for range int(long / 5 / (500 * time.Millisecond)) {
				r := look()
				last, jump = r, max(jump, math.Abs(r-last))
			}
		}
		mean := sum / n
		sd := math.Sqrt(max(0, squares/n-mean*mean))
		t.Logf("ratio %.3f, sd %.3f, largest step %.3f", mean, sd, jump)
		if math.Abs(mean-0.5) > 0.05 || sd > 0.1 || jump > 0.2 {
			t.Errorf("2x: ratio %.3f, sd %.3f, largest step %.3f, want 0.5, at most 0.1 and 0.2", mean, sd, jump)
		}
	})
}
