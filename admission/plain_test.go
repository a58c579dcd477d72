package admission

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/scorecard"
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
		stepByStep(at[1])
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
			if step == 8_000 || step == 12_000 {
				for _, c := range at {
					if err := c.Apply(sharesAndTags([]int{20, 7}[step/12_000])); err != nil {
						t.Fatal(err)
					}
				}
				stepByStep(at[1])
				synctest.Wait()
			}
			if step%50 == 0 {
				time.Sleep(20 * time.Millisecond)
				synctest.Wait() // both loops see the same
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
				Cost:   []int{0, 0, 0, 1, 2, math.MaxInt}[r.IntN(6)],
			}
			if step > 8_000 && r.IntN(4) == 0 {
				q.Tenant = strange[r.IntN(len(strange))]
				q.Tags = []scorecard.Tag{{Key: "job", Value: strange[r.IntN(len(strange))]}}[:r.IntN(2)]
			}
			ctx, cancel := context.WithTimeout(t.Context(), []time.Duration{0, time.Millisecond, time.Hour, time.Hour}[r.IntN(4)])
			defer cancel()
			var errs [2]error
			for i, c := range at {
				var ticket Ticket
				if ticket, errs[i] = c.TryAdmit(ctx, q); errs[i] == nil {
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
		for _, why := range []Reason{ReasonTenantCap, ReasonPriority, ReasonLimit, ReasonDeadline, NumReasons} {
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

// strange are values that a memo of short ones, a table or a page may take wrongly.
var strange = []string{"", "\x00", "a;b:c", "(other)", strings.Repeat("\xff", 9), strings.Repeat("é", 20), strings.Repeat("x", 65), strings.Repeat("x", 300)}

// sharesAndTags is a config whose limit moves, from there, and caps with it.
func sharesAndTags(limit int) Config {
	cfg := Pinned(1, 0)
	l := cfg.Lanes["default"]
	l.Limit = LimitConfig{Min: 2, Initial: limit, Max: 60}
	cfg.Lanes["default"] = l
	cfg.Scorecard.MaxTenants = 5
	cfg.Scorecard.Rules = []scorecard.Rule{
		{Name: "each", Match: "tenant:*", Cap: scorecard.Cap{Share: 0.4}, UnderPressure: &scorecard.Cap{Share: 0.1}},
		{Name: "worst", Match: "lane:*;tier:t5", Cap: scorecard.Cap{Share: 0.3}},
		{Name: "jobs", Match: "job:*;tenant:*", Cap: scorecard.Cap{N: 2}},
	}
	return cfg
}

// stepByStep has a controller ask the rules before it takes the lane's lock.
func stepByStep(c *Controller) {
	apart := *c.plan.Load()
	apart.plain = false
	c.plan.Store(&apart)
}
