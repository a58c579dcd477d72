package core

import (
	"math"
	"testing"
)

func newSignal(t *testing.T, setpoint float64) *Signal {
	t.Helper()
	s, err := NewSignal(SignalConfig{setpoint, SignalKP, SignalKI})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The columns are efforts, -ln(1-ratio), on which the constants act.
func TestSignalTimeline(t *testing.T) {
	const half = 500 * ms
	bound := effort(signalMax)
	s := newSignal(t, 1)
	for _, act := range []struct {
		why      string
		pressure float64
		applied  float64
		times    int
		want     float64
	}{
		{"below the setpoint", 0.5, 0, 1, 0},
		{"above: P 0.02, I 0.14", 1.2, 0, 1, 0.16},
		{"still: I 0.28", 1.2, 0.16, 1, 0.30},
		{"not a number: as it was", math.NaN(), 0.30, 1, 0.30},
		{"negative: as it was", -1, 0.30, 1, 0.30},
		{"infinite: as it was", math.Inf(1), 0.30, 1, 0.30},
		{"far above counts as 1 above: P 0.1, I 0.98", 7, 0.30, 1, 1.08},
		{"each period as much again", 7, 0, 4, 1.08 + 4*0.7},
		{"bounded", 7, bound, 100, bound},
		{"leaves the bound at once: P -0.1", 0, bound, 1, bound - 0.7 - 0.1},
		{"and is gone after six more", 0, 0, 6, 0},
		{"another binds at 0.9: goes on from there, P from -0.1 to 0.02", 1.2, 0.9, 1, 0.9 + 0.12 + 0.14},
		{"below the setpoint it does not follow", 0.9, 3, 1, 0.9 + 0.14 + 0.1 - 0.07 - 0.01},
	} {
		for range act.times {
			s.Step(act.pressure, -math.Expm1(-act.applied), half)
		}
		if got := effort(s.Ratio()); math.Abs(got-act.want) > 1e-9 {
			t.Errorf("%s: effort is %.4f, want %.4f (%+v)", act.why, got, act.want, s.Terms())
		}
	}
	if s.Reset(); s.Ratio() != 0 {
		t.Errorf("after Reset it asks for %v", s.Ratio())
	}
}

// With another setpoint than 1 the error is clamped to [-1, 1] all the same, and a
// setpoint that moves does not move the ratio.
func TestSignalErrorIsClamped(t *testing.T) {
	s := newSignal(t, 500)
	s.Step(1e9, 0, 500*ms)
	if got := effort(s.Ratio()); math.Abs(got-0.8) > 1e-9 {
		t.Errorf("far above: effort is %v, want 0.1 + 0.7", got)
	}
	before := s.Ratio()
	if err := s.SetConfig(SignalConfig{400, SignalKP, SignalKI}); err != nil || s.Ratio() != before {
		t.Errorf("a new setpoint takes the ratio from %v to %v", before, s.Ratio())
	}
	s.Step(400, before, 500*ms)
	s.Step(0, before, 100*ms)
	if got := effort(s.Ratio()); math.Abs(got-(0.7-0.14-0.1)) > 1e-9 {
		t.Errorf("far below: effort is %v, want 0.46", got)
	}
}

// The gate sheds the larger of what the lane and the signals ask for, and says
// whose it is.
func TestSignalsBindTheGate(t *testing.T) {
	l := newLane(t, pinned(1000))
	for i := range 2000 {
		l.Offer(i%NumRanks, 0, false)
	}
	l.Tick(100*ms, 0.5)
	if l.ShedRatio() != 0 || l.Binding() != "" {
		t.Errorf("sheds %v, bound by %q", l.ShedRatio(), l.Binding())
	}
	l.SetSignals(0.5, "disk")
	l.Tick(200*ms, 0.5)
	var v View
	if l.View(200*ms, &v); v.ShedRatio != 0.5 || v.Binding != "disk" || v.Threshold/NumCohorts != 2 {
		t.Errorf("sheds %v from rank %d on, bound by %q", v.ShedRatio, v.Threshold, v.Binding)
	}
	if l.Offer(NumRanks-1, 0, false) != true || l.Offer(0, 0, false) != false {
		t.Error("the worst passes or the best does not")
	}
	if l.Idle() {
		t.Error("idle while a signal sheds")
	}
	if l.SetSignals(0.4, "disk"); l.Binding() != "disk" {
		t.Errorf("the signal asks for less from the next tick on, and until then %q binds", l.Binding())
	}
	l.SetSignals(0, "")
	l.Tick(300*ms, 0.5)
	if l.Offer(NumRanks-1, 0, false) {
		t.Error("sheds when no signal asks for it")
	}
}

func TestNames(t *testing.T) {
	if NumReasons.String() != "unknown" || NumOutcomes.String() != "unknown" {
		t.Errorf("out of range: %q, %q", NumReasons, NumOutcomes)
	}
	seen := map[string]bool{"": true, "unknown": true}
	for r := range NumReasons {
		if seen[r.String()] {
			t.Errorf("reason %d has the name %q", r, r)
		}
		seen[r.String()] = true
	}
	for o := range NumOutcomes {
		if seen[o.String()] {
			t.Errorf("outcome %d has the name %q", o, o)
		}
		seen[o.String()] = true
	}
}
