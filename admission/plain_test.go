package admission

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"testing/synctest"
	"time"
)

// The rules, the gate and the lane decide and count under one lock what they decide
// and count one after the other, where something comes between them.
func TestRulesUnderTheLanesLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const seed = 4
		r := rand.New(rand.NewPCG(seed, seed))
		cfg := Pinned(12, 0)
		cfg.Scorecard.Rules = tenRules(t)
		at := [2]*Controller{}
		held := [2][]Ticket{}
		for i := range at {
			at[i] = NewQuiet(t, cfg)
		}
		apart := *at[1].plan.Load()
		apart.plain = false
		at[1].plan.Store(&apart)
		if !at[0].plan.Load().plain {
			t.Fatal("the rules are not asked under the lane's lock")
		}
		reasons := map[Reason]int{}
		for step := range 20_000 {
			if step == 5_000 || step == 15_000 {
				for _, c := range at { // not by a signal: two are polled in no order
					l := c.lane()
					l.mu.Lock()
					l.mu.core.SetSignals([]float64{0.7, 0}[step/10_000], "test")
					l.mu.Unlock()
				}
			}
			if step%50 == 0 {
				time.Sleep(20 * time.Millisecond) // both loops see the same
			}
			if n := len(held[0]); n > 0 && r.IntN(3) == 0 {
				k, o := r.IntN(n), Outcome(r.IntN(int(Ignore)+1))
				for i := range at {
					held[i][k].Release(o)
					held[i][k] = held[i][n-1]
					held[i] = held[i][:n-1]
				}
				continue
			}
			q := Request{
				Priority: NewPriority(Tier(r.IntN(NumTiers)), r.IntN(NumCohorts)), Key: fmt.Sprint(r.IntN(100)),
				Tenant: []string{"noisy", "batch-7", "gold-1", "acme", "umbrella", ""}[r.IntN(6)],
				Caller: []string{"crawler", "sync", "forbidden", "checkout"}[r.IntN(4)],
				Op:     []string{"report", "export", "write", "read"}[r.IntN(4)],
			}
			var errs [2]error
			for i, c := range at {
				var ticket Ticket
				if ticket, errs[i] = c.TryAdmit(t.Context(), q); errs[i] == nil {
					held[i] = append(held[i], ticket)
				}
			}
			why, shed := ReasonOf(errs[0])
			if other, too := ReasonOf(errs[1]); why != other || shed != too {
				t.Fatalf("seed %d, step %d: %+v: %v, step by step %v", seed, step, q, errs[0], errs[1])
			}
			reasons[why]++
		}
		for i := range held {
			for _, ticket := range held[i] {
				ticket.Release(Success)
			}
		}
		for _, why := range []Reason{ReasonTenantCap, ReasonPriority, ReasonLimit, NumReasons} {
			if reasons[why] < 100 {
				t.Errorf("only %d with reason %v", reasons[why], why)
			}
		}
		a, b := at[0].Stats(), at[1].Stats()
		if !reflect.DeepEqual(a.Lanes, b.Lanes) || !reflect.DeepEqual(a.Rules, b.Rules) {
			t.Errorf("counted\n%+v\n%+v\nstep by step\n%+v\n%+v", a.Lanes, a.Rules, b.Lanes, b.Rules)
		}
	})
}
