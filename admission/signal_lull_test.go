package admission

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// flow offers load times what w bears for d, in steps of 5 ms, and tells how much of
// it was asked and shed.
func (w *watched) flow(t *testing.T, c *Controller, load float64, d time.Duration) (asked, shed int) {
	t.Helper()
	const step = 5 * time.Millisecond
	due := 0.0
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(step) {
		for due += load * w.bears * step.Seconds(); due >= 1; due-- {
			asked++
			if c.Do(t.Context(), Request{Priority: NewPriority(T3, asked*61%NumCohorts)}, w.serve) != nil {
				shed++
			}
		}
	}
	return asked, shed
}

// A resource that rests just below its setpoint, a heap say, is let go of in a lull:
// who comes after it is not shed for an overload that is over.
func TestLullEndsShedding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatched(200, act{reads: func(_ context.Context, served float64, _ <-chan struct{}) (float64, error) {
			return 0.95 + 0.05*served, nil
		}})
		c := NewQuiet(t, Config{}, WithSignal("s", w))
		w.flow(t, c, 3, 2*time.Minute)
		over := c.Stats().Signals[0].Ratio
		if asked, shed := w.flow(t, c, 0.5, time.Second); over < 0.5 || shed == 0 {
			t.Errorf("at three times the load the ratio is %.3f, and right after it %d of %d are shed", over, shed, asked)
		}
		time.Sleep(8 * time.Second)
		if asked, shed := w.flow(t, c, 0.5, 10*time.Second); shed > 0 {
			t.Errorf("after a lull %d of %d are shed at half the load", shed, asked)
		}
	})
}

// What comes in bursts is held to what the resource bears in the mean: the gaps
// between them are no lull.
func TestBurstsAreNoLull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mean := 0.0 // of what was served, over some 2 s
		w := newWatched(200, act{reads: func(_ context.Context, served float64, _ <-chan struct{}) (float64, error) {
			mean += 0.22 * (served - mean)
			return mean, nil
		}})
		c := NewQuiet(t, Config{}, WithSignal("s", w))
		asked, shed := 0, 0
		for i := range 60 {
			n, m := w.flow(t, c, 12, 500*time.Millisecond)
			if time.Sleep(1500 * time.Millisecond); i >= 10 {
				asked, shed = asked+n, shed+m
			}
		}
		passed := float64(asked-shed) / (50 * 2 * w.bears)
		t.Logf("%.2f of what it bears pass", passed)
		if passed < 0.6 || passed > 1.4 {
			t.Errorf("of bursts of twelve times for a quarter of the time %.2f of what it bears pass, want about 1", passed)
		}
	})
}

// An actor who is gone is let go of in a lull though his pressure stays near the
// setpoint, and his neighbours' coming is not his.
func TestLullOfOneActor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMeter(1)
		pressure := map[string]float64{"acme": 1.5}
		m.broken = func(context.Context) (map[string]float64, error) { return pressure, nil }
		c := NewQuiet(t, Config{}, WithKeyedSignal("m", m))
		ask := func(tenant string, n int) {
			for i := range n {
				_ = c.Do(t.Context(), Request{Tenant: tenant, Priority: NewPriority(T3, i%NumCohorts)}, quick)
				time.Sleep(10 * time.Millisecond)
			}
		}
		ask("acme", 500)
		m.Lock()
		m.broken = func(context.Context) (map[string]float64, error) { return map[string]float64{"acme": 0.98}, nil }
		m.Unlock()
		ask("acme", 100)
		if s := c.Stats().Keyed[0]; s.Pressed != 1 || s.Top[0].Ratio < 0.5 {
			t.Errorf("a second later: %+v", s)
		}
		ask("other", 1000)
		if s := c.Stats().Keyed[0]; s.Pressed != 0 {
			t.Errorf("ten seconds after acme has gone: %+v", s)
		}
	})
}
