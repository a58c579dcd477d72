package admission

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/regulators"
	"github.com/spillway-go/spillway/scorecard"
)

// A lane in shadow sheds nobody, whoever would, and counts it; the other lane
// enforces all the same. The mode changes while both run.
func TestShadowOfALane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Pinned(1, 1)
		cfg.Lanes["trial"] = cfg.Lanes["default"]
		cfg.Scorecard.Rules = []scorecard.Rule{{Name: "none", Match: "tenant:capped"}}
		mode := func(m Mode) Config {
			l := cfg.Lanes["trial"]
			l.Mode = m
			next := cfg
			next.Lanes = map[string]LaneConfig{"default": cfg.Lanes["default"], "trial": l}
			return next
		}
		c := NewQuiet(t, mode(Shadow))
		var running []Ticket
		ask := func(r Request) error {
			ticket, err := c.TryAdmit(t.Context(), r)
			if err == nil {
				running = append(running, ticket)
			}
			return err
		}
		for _, r := range []Request{{Lane: "trial"}, {Lane: "trial"}, {Lane: "trial", Tenant: "capped"}, {}} {
			if err := ask(r); err != nil {
				t.Errorf("%+v: %v", r, err)
			}
		}
		wantShed(t, ask(Request{}), ReasonLimit)
		wantShed(t, ask(Request{Tenant: "capped"}), ReasonTenantCap)
		s := c.Stats()
		trial, _ := s.Lane("trial")
		other, _ := s.Lane("")
		if n := trial.Tiers[T3]; trial.Mode != Shadow || shed(trial) != 0 || n.Shadow[ReasonLimit] != 1 || n.Shadow[ReasonTenantCap] != 1 || n.Admitted != 3 {
			t.Errorf("the lane on trial: %+v", trial)
		}
		if other.Mode != Enforce || shed(other) != 2 || other.Tiers[T3].Admitted != 1 {
			t.Errorf("the other lane: %+v", other)
		}
		if err := c.Apply(mode(Enforce)); err != nil {
			t.Fatal(err)
		}
		wantShed(t, ask(Request{Lane: "trial"}), ReasonLimit)
		if err := c.Apply(mode(Off)); err != nil {
			t.Fatal(err)
		}
		if err := ask(Request{Lane: "trial"}); err != nil {
			t.Error(err)
		}
		if after, _ := c.Stats().Lane("trial"); after.Mode != Off || after.Tiers[T3].Arrived != trial.Tiers[T3].Arrived+1 {
			t.Errorf("a lane that is off has counted: %+v", after)
		}
		whole := mode(Enforce)
		whole.Mode = Shadow
		if err := c.Apply(whole); err != nil {
			t.Fatal(err)
		}
		if l, _ := c.Stats().Lane("trial"); l.Mode != Shadow {
			t.Errorf("mode %v, want what sheds less", l.Mode)
		}
		for _, ticket := range running {
			ticket.Release(Success)
		}
	})
}

// What a lane in shadow would shed presses nobody elsewhere: neither the rules'
// harder caps nor a signal that both lanes share.
func TestShadowOfALanePressesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Config{Lanes: map[string]LaneConfig{"default": {}, "trial": {Mode: Shadow}}}
		cfg.Scorecard.Rules = []scorecard.Rule{{Name: "each", Match: "tenant:*", Cap: scorecard.Cap{N: 5}, UnderPressure: &scorecard.Cap{}}}
		cfg.Regulators = map[string]RegulatorConfig{"two": {Lanes: []string{"trial"}}}
		two := regulators.Func(func(context.Context) (float64, error) { return 2, nil })
		c := NewQuiet(t, cfg, WithSignal("two", two))
		var wg sync.WaitGroup
		arrivals(&wg, 100, 5*time.Second, func(i int) {
			for _, lane := range []string{"", "trial"} {
				if err := work(context.Background(), c, Request{Lane: lane}, time.Millisecond); err != nil {
					t.Errorf("lane %q: %v", lane, err)
				}
			}
		})
		wg.Wait()
		if l, _ := c.Stats().Lane("trial"); l.ShedRatio < 0.5 || l.Tiers[T3].Shadow[ReasonPriority] < 50 {
			t.Errorf("ratio %.2f, %d would have been shed: the lane on trial was not pressed", l.ShedRatio, l.Tiers[T3].Shadow[ReasonPriority])
		}
		cfg.Lanes = map[string]LaneConfig{"default": {}, "trial": {}}
		if err := c.Apply(cfg); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
		_, err := c.TryAdmit(t.Context(), Request{})
		wantShed(t, err, ReasonTenantCap) // now it sheds, and so the rules are harder
	})
}

// Regulators in shadow shed nobody and take nothing; their stats and the hook tell
// whom they would have shed. Beside each stands one that is enforced.
func TestShadowOfRegulators(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Pinned(10, 2)
		cfg.Regulators = map[string]RegulatorConfig{
			"bytes":  {Kind: "bytes", Limit: 100, Shadow: true},
			"share":  {By: byTenant, Shadow: true},
			"lag":    {Shadow: true},
			"larger": {Kind: "bytes", Limit: 1000},
		}
		cfg.Scorecard.Rules = []scorecard.Rule{{Name: "trial", Match: "op:scan", Shadow: true}}
		loud := keyedFunc(func(context.Context) (map[string]float64, error) { return map[string]float64{"loud": 10}, nil })
		two := regulators.Func(func(context.Context) (float64, error) { return 2, nil })
		told := map[string]int{}
		c := NewQuiet(t, cfg, WithKeyedSignal("share", loud), WithSignal("lag", two),
			WithHooks(Hooks{Shed: func(_ context.Context, r Refusal) {
				if r.Shadow {
					told[r.Err.Stage]++
				}
			}}))
		for range 1000 {
			if err := work(context.Background(), c, Request{Tenant: "loud"}, 5*time.Millisecond); err != nil {
				t.Fatal(err)
			}
		}
		first := hold(t, c, Request{Bytes: 60})
		second := hold(t, c, Request{Bytes: 60}) // takes nothing of the bytes on trial
		third := hold(t, c, Request{Bytes: 40})
		scan := hold(t, c, Request{Op: "scan"})
		s := c.Stats()
		if g := s.Guards[0]; !g.Shadow || g.Refused != 1 || told["bytes"] != 1 || s.Guards[1].Shadow {
			t.Errorf("%+v, told %d times", s.Guards, told["bytes"])
		}
		if k := s.Keyed[0]; !k.Shadow || k.Shed < 500 || told["share"] != int(k.Shed) {
			t.Errorf("%+v, told %d times", k, told["share"])
		}
		if sig := s.Signals[0]; !sig.Shadow || sig.Ratio < 0.5 || only(t, c).ShedRatio != 0 {
			t.Errorf("%+v, applied %v", sig, only(t, c).ShedRatio)
		}
		if r := s.Rules[0]; r.Shadowed != 1 || told["scorecard"] != 1 || r.Top[0].Value != "scan" {
			t.Errorf("%+v, told %d times", r, told["scorecard"])
		}
		for _, ticket := range []Ticket{first, second, third, scan} {
			ticket.Release(Success)
		}
		l := only(t, c)
		if shed(l) != 0 || l.Tiers[T3].Outcomes[Success] != 1004 {
			t.Errorf("%d shed, %d served", shed(l), l.Tiers[T3].Outcomes[Success])
		}
		for name, rc := range cfg.Regulators { // in force now, with what they hold and know
			rc.Shadow = false
			cfg.Regulators[name] = rc
		}
		if err := c.Apply(cfg); err != nil {
			t.Fatal(err)
		}
		_, err := c.TryAdmit(t.Context(), Request{Bytes: 101, Priority: NewPriority(T0, 0)})
		wantShed(t, err, ReasonRegulator)
	})
}

// A hook that panics over a trial's refusal leaves nothing taken.
func TestShadowHookPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Pinned(2, 2)
		cfg.Regulators = map[string]RegulatorConfig{"bytes": {Kind: "bytes", Limit: 100, Shadow: true}}
		cfg.Scorecard.Rules = []scorecard.Rule{
			{Name: "each", Match: "tenant:*", Cap: scorecard.Cap{N: 9}}, {Name: "trial", Match: "op:scan", Shadow: true},
		}
		trying := true
		c := NewQuiet(t, cfg, WithHooks(Hooks{Shed: func(context.Context, Refusal) {
			if trying {
				panic("mine")
			}
		}}))
		for _, r := range []Request{{Op: "scan"}, {Bytes: 1000}} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%+v: the panic did not pass through", r)
					}
				}()
				_, _ = c.Admit(t.Context(), r)
			}()
		}
		trying = false
		if n := c.Stats().Rules[0].Held; n != 0 {
			t.Errorf("%d held", n)
		}
	})
}
