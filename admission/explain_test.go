package admission

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/regulators"
	"github.com/spillway-go/spillway/scorecard"
)

// Over many states (slots taken, queues full, gates pressed, tenants capped and
// pressed, lanes closed) what Explain says is what Admit then does, and to ask it
// leaves everything as it was.
func TestExplainSaysWhatAdmitDoes(t *testing.T) {
	said := map[Verdict]int{}
	reasons := map[Reason]int{}
	uncertain := 0
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			w := newExplained(t, seed)
			for range 60 {
				w.stir()
				r, ctx := w.request()
				synctest.Wait()
				before := w.c.Stats()
				x := w.c.Explain(ctx, r)
				if after := w.c.Stats(); !reflect.DeepEqual(before, after) {
					t.Fatalf("seed %d: Explain changed\n%+v\nto\n%+v", seed, before, after)
				}
				got := w.admit(ctx, r)
				if !x.Certain {
					uncertain++
					continue
				}
				said[x.Verdict]++
				if why, ok := ReasonOf(x.Err); ok {
					reasons[why]++
				}
				if x.Verdict != got.verdict || !sameRefusal(x.Err, got.err) {
					t.Fatalf("seed %d: explained as %v, %v:\n%+v\nbut Admit: %v, %v", seed, x.Verdict, x.Err, x.Steps, got.verdict, got.err)
				}
			}
			w.end()
		})
	}
	t.Logf("%v, %v, uncertain %d", said, reasons, uncertain)
	for v := VerdictRun; v <= VerdictInvalid; v++ {
		if said[v] < 10 {
			t.Errorf("%v was explained %d times: the states are not varied enough", v, said[v])
		}
	}
	for _, why := range []Reason{ReasonDeadline, ReasonTenantCap, ReasonKeyed, ReasonPriority, ReasonQueueFull, ReasonClosed} {
		if reasons[why] < 3 {
			t.Errorf("reason %v was explained %d times: the states are not varied enough", why, reasons[why])
		}
	}
	if uncertain > 200 {
		t.Errorf("%d of 2,400 left open, want few", uncertain)
	}
}

func sameRefusal(a, b error) bool {
	x, ok := errors.AsType[*ShedError](a)
	y, both := errors.AsType[*ShedError](b)
	if ok && both {
		return x.Reason == y.Reason && x.Stage == y.Stage && x.Lane == y.Lane && (x.Err == nil) == (y.Err == nil)
	}
	return ok == both && (a == nil) == (b == nil) && (a == nil || a.Error() == b.Error())
}

// explained is a controller in changing states.
type explained struct {
	t       *testing.T
	rng     *rand.Rand
	c       *Controller
	lag     regulators.Value
	pressed atomic.Pointer[map[string]float64]
	told    atomic.Pointer[ShedError] // by the hook
	running []Ticket
	waiting []<-chan answer
	ctx     context.Context
	leave   context.CancelFunc
}

type keyedFunc func(context.Context) (map[string]float64, error)

func (f keyedFunc) Pressures(ctx context.Context) (map[string]float64, error) { return f(ctx) }

func newExplained(t *testing.T, seed uint64) *explained {
	w := &explained{t: t, rng: rand.New(rand.NewPCG(seed, 11))}
	w.pressed.Store(&map[string]float64{})
	w.ctx, w.leave = context.WithCancel(t.Context())
	cfg := Config{Lanes: map[string]LaneConfig{}, Regulators: map[string]RegulatorConfig{
		"lag":   {Lanes: []string{"read"}},
		"share": {By: []string{byTenant, byCaller, byKey}[w.rng.IntN(3)]},
	}}
	cfg.Mode = []Mode{Enforce, Enforce, Enforce, Enforce, Shadow, Off}[w.rng.IntN(6)]
	for _, name := range []string{"read", "write", "default"} {
		l := LaneConfig{Limit: LimitConfig{Fixed: 1 + w.rng.IntN(6)}}
		l.Queue.Capacity = 1 + w.rng.IntN(3)
		cfg.Lanes[name] = l
	}
	for _, rule := range []string{"t: tenant:* = 6 / 4", "share: caller:*;lane:read = 90%", "trial: op:scan = 0 [shadow]", "none: op:drop = 0"} {
		r, err := scorecard.ParseRule(rule)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Scorecard.Rules = append(cfg.Scorecard.Rules, r)
	}
	pressures := keyedFunc(func(context.Context) (map[string]float64, error) { return *w.pressed.Load(), nil })
	hooks := Hooks{Shed: func(_ context.Context, r Refusal) {
		if why, ok := errors.AsType[*scorecard.CapError](r.Cause); !ok || why.Rule != "trial" { // which goes on
			w.told.Store(r.Err)
		}
	}}
	w.c = NewQuiet(t, cfg, WithSignal("lag", &w.lag), WithKeyedSignal("share", pressures), WithHooks(hooks))
	return w
}

// stir changes the state.
func (w *explained) stir() {
	switch w.rng.IntN(12) {
	case 0:
		w.lag.Set(3 * w.rng.Float64())
	case 1:
		w.pressed.Store(&map[string]float64{w.name(): 3, w.name(): 2})
	case 2:
		time.Sleep(time.Duration(w.rng.IntN(2000)) * time.Millisecond)
	case 3:
		if w.rng.IntN(20) == 0 {
			_ = w.c.Close()
		}
	case 4, 5:
		time.Sleep(time.Duration(w.rng.IntN(100)) * time.Millisecond)
		for len(w.running) > 0 && w.rng.IntN(6) > 0 {
			i := w.rng.IntN(len(w.running))
			w.running[i].Release(Outcome(w.rng.IntN(4)))
			w.running = slices.Delete(w.running, i, i+1)
		}
	default:
		time.Sleep(time.Duration(w.rng.IntN(20)) * time.Millisecond)
	}
	synctest.Wait()
	w.waiting = slices.DeleteFunc(w.waiting, func(got <-chan answer) bool {
		select {
		case a := <-got:
			if a.err == nil {
				w.running = append(w.running, a.ticket)
			}
			return true
		default:
			return false
		}
	})
}

func (w *explained) name() string { return []string{"a", "b", "c", "d", ""}[w.rng.IntN(5)] }

func (w *explained) request() (Request, context.Context) {
	r := Request{
		Lane: []string{"", "read", "read", "read", "write"}[w.rng.IntN(5)], Tenant: w.name(), Caller: w.name(),
		Key: string(rune('a' + w.rng.IntN(26))), Op: []string{"get", "get", "get", "get", "scan", "drop"}[w.rng.IntN(6)],
		Cost: w.rng.IntN(3), Attempt: w.rng.IntN(2),
	}
	if w.rng.IntN(4) > 0 {
		r.Priority = NewPriority(Tier(w.rng.IntN(NumTiers)), w.rng.IntN(NumCohorts))
	}
	ctx := w.ctx
	switch w.rng.IntN(24) {
	case 0:
		r.Priority = Exempt
	case 1:
		r.Lane = "nowhere"
	case 2:
		r.Bytes, r.Cost = -1, -1
	case 3:
		c, cancel := context.WithCancelCause(ctx)
		cancel(errMine)
		ctx = c
	case 4, 5, 6, 7:
		c, cancel := context.WithTimeout(ctx, time.Duration(w.rng.IntN(60)*w.rng.IntN(60))*time.Millisecond/4)
		w.t.Cleanup(cancel)
		ctx = c
	case 8, 9, 10, 11:
		r.Key = "" // chance decides at the boundary
	}
	return r, ctx
}

type done struct {
	verdict Verdict
	err     error
}

// admit asks, and tells what became of the request at once.
func (w *explained) admit(ctx context.Context, r Request) done {
	w.told.Store(nil)
	mode := w.c.Config().Mode
	got := enqueue(ctx, w.c, r)
	synctest.Wait()
	select {
	case a := <-got:
		switch {
		case a.err == nil:
			w.running = append(w.running, a.ticket)
			if told := w.told.Load(); told != nil && mode == Shadow {
				return done{VerdictRun, told}
			}
			return done{VerdictRun, nil}
		case errors.Is(a.err, ErrShed):
			return done{VerdictShed, a.err}
		case errors.Is(a.err, errMine):
			return done{VerdictGone, a.err}
		}
		return done{VerdictInvalid, a.err}
	default:
		w.waiting = append(w.waiting, got)
		return done{VerdictWait, nil}
	}
}

func (w *explained) end() {
	w.leave()
	synctest.Wait()
	w.stir()
	for _, t := range w.running {
		t.Release(Ignore)
	}
	synctest.Wait()
	for _, got := range w.waiting {
		a := <-got
		a.ticket.Release(Ignore)
	}
}

// A stage and a guard cannot be asked without taking: Explain says so, goes on,
// and is not certain. Each step stands in its order.
func TestExplainAsksNoStage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stage := &stageFuncs{name: "mine", enter: func(*Request) error { return errMine }}
		cfg := Pinned(1, 1)
		cfg.Regulators = map[string]RegulatorConfig{"payload": {Kind: "bytes", Limit: 10}}
		cfg.Priorities.Callers = map[string]Priority{"shop": T1.Priority()}
		c := NewQuiet(t, cfg, WithStages(stage))
		x := c.Explain(t.Context(), Request{Caller: "shop", Bytes: 1000})
		var path []string
		for _, s := range x.Steps {
			path = append(path, s.Stage+" "+s.Verdict.String())
		}
		want := "mode pass, exempt pass, request pass, controller pass, deadline pass, scorecard pass, mine not asked, payload not asked, gate pass, limit run"
		if got := strings.Join(path, ", "); got != want {
			t.Errorf("the way is\n%s, want\n%s", got, want)
		}
		if x.Certain || x.Verdict != VerdictRun || x.Err != nil || stage.entered != 0 {
			t.Errorf("certain %v, %v, %v, stage entered %d times", x.Certain, x.Verdict, x.Err, stage.entered)
		}
		if x.Request.Lane != "default" || x.Request.Priority.Tier() != T1 || x.Request.Cost != 1 {
			t.Errorf("understood as %+v", x.Request)
		}
	})
}

// What decides stands in the step with its numbers, and what comes after it is
// named, not judged.
func TestExplainGivesTheNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Pinned(2, 1)
		two := scorecard.Cap{N: 2}
		cfg.Scorecard.Rules = []scorecard.Rule{{Name: "each", Match: "tenant:*", Cap: two}}
		c := NewQuiet(t, cfg)
		step := func(x Explanation, stage string) Step {
			t.Helper()
			for _, s := range x.Steps {
				if s.Stage == stage {
					return s
				}
			}
			t.Errorf("no step %q in %+v", stage, x.Steps)
			return Step{}
		}
		taken := []Ticket{hold(t, c, Request{Tenant: "acme"}), hold(t, c, Request{Tenant: "acme"})}
		x := c.Explain(t.Context(), Request{Tenant: "acme"})
		if got := step(x, "scorecard"); got.Verdict != VerdictShed || got.Why != `rule "each": "acme" holds 2 of 2` {
			t.Errorf("%+v", got)
		}
		if got := step(x, "limit"); got != (Step{"limit", VerdictNotReached, ""}) {
			t.Errorf("%+v", got)
		}
		x = c.Explain(t.Context(), Request{Tenant: "globex"})
		if got := step(x, "limit"); got.Why != "2 of 2 slots taken, it needs 1; to the queue" {
			t.Errorf("%+v", got)
		}
		if got := step(x, "queue"); x.Verdict != VerdictWait || !strings.HasPrefix(got.Why, "0 of 1 places taken; waits of late were 0s, it may wait ") || x.Allowance == 0 {
			t.Errorf("%+v, may wait %v", got, x.Allowance)
		}
		for _, ticket := range taken {
			ticket.Release(Success)
		}
		var none *Controller
		if x := none.Explain(t.Context(), Request{}); x.Mode != Off || x.Verdict != VerdictRun || len(x.Steps) != 1 {
			t.Errorf("%+v", x)
		}
		//lint:ignore SA1012 what is wrong must be said, not met with a panic
		if x := c.Explain(nil, Request{}); x.Verdict != VerdictInvalid || x.Err == nil { //nolint:staticcheck
			t.Errorf("%+v", x)
		}
	})
}
