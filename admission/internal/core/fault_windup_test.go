package core

import (
	"math"
	"testing"
	"time"

	"github.com/spillway-go/spillway/pid"
)

// B30: while the output is at its bound the integral keeps growing, so after
// the load is gone the loop goes on shedding for a long time, or the reverse.
// Capacity is 100/s: ten slots of 100 ms.

// windup runs a lane at a load of x, tick by tick of the gate, and returns what
// was shed of each tick's arrivals and the gate's ratio.
func windup(s *sim, x float64, ticks int) (shed, ratio series) {
	for range ticks {
		offered, refused := s.offered, s.gated+s.died
		s.run(pid.RatioPeriod, 100*x)
		if n := s.offered - offered; n > 0 {
			shed = append(shed, float64(s.gated+s.died-refused)/float64(n))
		}
		ratio = append(ratio, s.lane.ShedRatio())
	}
	return shed, ratio
}

const tenMinutes = int(10 * time.Minute / pid.RatioPeriod)

func TestB30GateDoesNotWindUp(t *testing.T) {
	start := func(seed uint64) *sim { return newSim(t, pinned(10), seed) }
	t.Run("20x, then calm", func(t *testing.T) {
		s := start(30)
		if shed, _ := windup(s, 20, tenMinutes); shed.mean() < 0.9 {
			t.Errorf("20x: %.2f are shed", shed.mean())
		}
		windup(s, 0.1, 10)
		if shed, ratio := windup(s, 0.1, 600); shed.mean() >= 0.01 || ratio.mean() > 0 {
			t.Errorf("ten ticks after the drop %.3f are still shed, ratio %.3f", shed.mean(), ratio.mean())
		}
	})
	t.Run("calm, then 3x", func(t *testing.T) {
		s := start(31)
		if shed, _ := windup(s, 0.1, tenMinutes); shed.mean() > 0 {
			t.Errorf("0.1x: %.3f are shed", shed.mean())
		}
		windup(s, 3, 10)
		if shed, ratio := windup(s, 3, 20); shed.mean() < 0.5 || ratio.mean() < 0.4 {
			t.Errorf("ten ticks after the rise %.3f are shed, ratio %.3f", shed.mean(), ratio.mean())
		}
	})
	t.Run("steady 2x, reconfigured", func(t *testing.T) {
		s := start(32)
		var all, ratios series
		for i := range 10 {
			if i > 0 { // another law of the queue and back: a reload in the middle
				cfg := pinned(10)
				if i%2 == 1 {
					cfg.Deadline = 900 * ms
				}
				before := s.lane.ShedRatio()
				if err := s.lane.Reconfigure(cfg, nil); err != nil {
					t.Fatal(err)
				}
				if windup(s, 2, 1); math.Abs(s.lane.ShedRatio()-before) > 0.2 {
					t.Errorf("a reload takes the ratio from %.3f to %.3f", before, s.lane.ShedRatio())
				}
			}
			shed, ratio := windup(s, 2, tenMinutes/10)
			if i > 0 {
				all, ratios = append(all, shed...), append(ratios, ratio...)
			}
		}
		t.Logf("shed %.3f, ratio %.3f, sd %.3f", all.mean(), ratios.mean(), ratios.sd())
		if math.Abs(all.mean()-0.5) > 0.05 || ratios.sd() > 0.1 {
			t.Errorf("2x: %.3f are shed, sd of the ratio %.3f", all.mean(), ratios.sd())
		}
	})
}

// plant is a resource whose pressure is what gets past a signal's ratio.
type plant struct {
	signal *Signal
	ratios series
}

func (p *plant) run(offered float64, periods int) {
	for range periods {
		p.signal.Step(offered*(1-p.signal.Ratio()), p.signal.Ratio(), 500*ms)
		p.ratios = append(p.ratios, p.signal.Ratio())
	}
}

// The same of a signal's PID, whose period is 500 ms. However long it was
// at a bound, ten periods later it is where it should be.
func TestB30SignalDoesNotWindUp(t *testing.T) {
	const tenMinutes = 1200
	for _, c := range []struct {
		why           string
		before, after float64
		least, most   float64
	}{
		{"20x, then calm", 20, 0.1, 0, 0},
		{"calm, then 3x", 0.1, 3, 0.65, 0.69},
		{"no reading can be worse, then 2x", MaxPressure, 2, 0.45, 0.55},
	} {
		signal, err := NewSignal(SignalConfig{1, SignalKP, SignalKI})
		if err != nil {
			t.Fatal(err)
		}
		p := plant{signal: signal}
		p.run(c.before, tenMinutes)
		p.run(c.after, 20)
		for i, got := range p.ratios[len(p.ratios)-10:] {
			if got < c.least || got > c.most {
				t.Errorf("%s: ratio is %.3f %d periods later, want %v to %v", c.why, got, 10+i, c.least, c.most)
			}
		}
	}
	signal, _ := NewSignal(SignalConfig{1, SignalKP, SignalKI})
	p := plant{signal: signal}
	p.run(2, tenMinutes)
	steady := p.ratios[tenMinutes/10:]
	if math.Abs(steady.mean()-0.5) > 0.05 || steady.sd() > 0.1 {
		t.Errorf("steady 2x: mean ratio %.3f, sd %.3f", steady.mean(), steady.sd())
	}
	// Gains that change while it runs move nothing by themselves.
	for _, gains := range []SignalConfig{{1, 0.5, 0.2}, {1, 0.01, 5}, {1, SignalKP, SignalKI}} {
		if err := signal.SetConfig(gains); err != nil {
			t.Fatal(err)
		}
		before := signal.Ratio()
		if p.run(2, 1); math.Abs(signal.Ratio()-before) > 0.2 {
			t.Errorf("gains %+v take the ratio from %.3f to %.3f", gains, before, signal.Ratio())
		}
	}
}
