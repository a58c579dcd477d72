package admission

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/regulators"
)

// till is a guard that holds each key to a bound and remembers what it holds.
type till struct {
	sync.Mutex
	bound    int64
	held     map[string]int64
	highest  int64
	panicsAt string // "Enter" or "Exit"
}

var errTill = errors.New("till is full")

func newTill(bound int64) *till { return &till{bound: bound, held: map[string]int64{}} }

func (g *till) Enter(_ time.Time, key string, n int64) error {
	g.Lock()
	defer g.Unlock()
	if g.panicsAt == "Enter" {
		panic(errMine)
	}
	if g.held[key]+n > g.bound {
		return errTill
	}
	g.held[key] += n
	g.highest = max(g.highest, g.held[key])
	return nil
}

func (g *till) Exit(key string, n int64) {
	g.Lock()
	defer g.Unlock()
	if g.held[key] -= n; g.held[key] == 0 {
		delete(g.held, key)
	}
	if g.panicsAt == "Exit" {
		panic(errMine)
	}
}

func (g *till) holds() map[string]int64 {
	g.Lock()
	defer g.Unlock()
	return maps.Clone(g.held)
}

// A guard is told whom and how much its config says, and its refusals have the
// reason of an actor or of the replica.
func TestGuardIsToldWhatItsConfigSays(t *testing.T) {
	r := Request{Tenant: "acme", Caller: "checkout", Key: "order-1", Cost: 3, Bytes: 7, Lane: "write"}
	for _, tc := range []struct {
		rc  RegulatorConfig
		key string
		n   int64
		why Reason
	}{
		{RegulatorConfig{}, "order-1", 1, ReasonRegulator},
		{RegulatorConfig{Counts: "bytes"}, "order-1", 7, ReasonRegulator},
		{RegulatorConfig{By: "tenant", Counts: "cost"}, "acme", 3, ReasonKeyed},
		{RegulatorConfig{By: "caller", Counts: "requests", Lanes: []string{"write"}}, "checkout", 1, ReasonKeyed},
		{RegulatorConfig{By: "key", Counts: "bytes"}, "order-1", 7, ReasonKeyed},
		{RegulatorConfig{Lanes: []string{"read"}}, "", 0, NumReasons},
	} {
		t.Run(fmt.Sprintf("%+v", tc.rc), func(t *testing.T) {
			g := newTill(10)
			c := NewQuiet(t, Config{
				Lanes:      map[string]LaneConfig{"read": {}, "write": {}},
				Regulators: map[string]RegulatorConfig{"till": tc.rc},
			}, WithGuard("till", g))
			ticket := hold(t, c, r)
			want := map[string]int64{}
			if tc.n > 0 {
				want[tc.key] = tc.n
			}
			if got := g.holds(); !maps.Equal(got, want) {
				t.Errorf("holds %v, want %v", got, want)
			}
			ticket.Release(Success)
			ticket.Release(Success)
			if got := g.holds(); len(got) != 0 {
				t.Errorf("after release it holds %v", got)
			}
			if tc.n == 0 {
				return
			}
			g.bound = 0
			_, err := c.Admit(t.Context(), r)
			wantShed(t, err, tc.why)
			var shed *ShedError
			if errors.As(err, &shed); shed.Stage != "till" || !errors.Is(err, errTill) {
				t.Errorf("err = %v by %q", err, shed.Stage)
			}
			wantNoAllocs(t, "refused by a guard", func() {
				if _, err := c.Admit(t.Context(), r); err == nil {
					t.Fatal("admitted")
				}
			})
			if s := c.Stats().Guards; len(s) != 1 || s[0].Refused < 1000 || s[0].Panics != 0 {
				t.Errorf("stats: %+v", s)
			}
		})
	}
}

// What a guard took is given back once whatever becomes of the request, last
// first and before the stages.
func TestGuardsRollBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newTill(1000), newTill(5)
		st := &stageFuncs{name: "stage"}
		cfg := Pinned(1, 1)
		cfg.Regulators = map[string]RegulatorConfig{"b": {Counts: "bytes"}}
		c := NewQuiet(t, cfg, WithGuard("a", a), WithGuard("b", b), WithStages(st))
		empty := func(when string) {
			t.Helper()
			if x, y := a.holds(), b.holds(); len(x)+len(y) != 0 || st.entered != st.exited {
				t.Errorf("%s: %v and %v are held, stage entered %d, left %d", when, x, y, st.entered, st.exited)
			}
		}
		_, err := c.Admit(t.Context(), Request{Bytes: 9})
		wantShed(t, err, ReasonRegulator)
		empty("refused by the second guard")

		holder := hold(t, c, Request{})
		_, err = c.TryAdmit(t.Context(), Request{})
		wantShed(t, err, ReasonLimit)
		waiter := enqueue(t.Context(), c, Request{Priority: NewPriority(T0, 0)})
		ctx, cancel := context.WithCancel(t.Context())
		synctest.Wait()
		_, err = c.Admit(t.Context(), Request{})
		wantShed(t, err, ReasonQueueFull)
		if a.holds()[""] != 2 {
			t.Errorf("holds %v with one running and one waiting", a.holds())
		}
		holder.Release(Success)
		holder = (<-waiter).ticket
		leaves := enqueue(ctx, c, Request{})
		synctest.Wait()
		cancel()
		if got := <-leaves; !errors.Is(got.err, context.Canceled) {
			t.Errorf("err = %v", got.err)
		}
		holder.Release(Success)
		empty("after a wait, a leave and a full queue")
	})
}

// A guard that panics is passed over: the request goes on, what others took is
// given back, and it is counted and told once.
func TestGuardThatPanicsFailsOpen(t *testing.T) {
	for _, at := range []string{"Enter", "Exit"} {
		t.Run(at, func(t *testing.T) {
			bad, good := newTill(10), newTill(10)
			bad.panicsAt = at
			c := NewQuiet(t, Config{}, WithGuard("bad", bad), WithGuard("good", good))
			for range 20 {
				if err := work(t.Context(), c, Request{}, 0); err != nil {
					t.Fatal(err)
				}
			}
			if s := c.Stats().Guards[0]; s.Panics != 20 || s.Err == nil || !strings.Contains(s.Err.Error(), at) {
				t.Errorf("stats: %+v", s)
			}
			bad.panicsAt = ""
			if err := work(t.Context(), c, Request{}, 0); err != nil {
				t.Fatal(err)
			}
			if s := c.Stats().Guards[0]; s.Panics != 20 || s.Err != nil {
				t.Errorf("stats after it works again: %+v", s)
			}
			if x, y := bad.holds(), good.holds(); len(x)+len(y) != 0 {
				t.Errorf("%v and %v are held", x, y)
			}
		})
	}
}

// In shadow a guard's refusal is counted and the request runs; what other guards
// took is held until it ends.
func TestGuardInShadow(t *testing.T) {
	first, full := newTill(10), newTill(0)
	c := NewQuiet(t, Config{Mode: Shadow}, WithGuard("a", first), WithGuard("full", full))
	ticket := hold(t, c, Request{})
	if first.holds()[""] != 1 || only(t, c).Tiers[T3].Shadow[ReasonRegulator] != 1 {
		t.Errorf("holds %v, would have shed %v", first.holds(), only(t, c).Tiers[T3].Shadow)
	}
	ticket.Release(Success)
	if len(first.holds()) != 0 {
		t.Errorf("holds %v", first.holds())
	}
}

// A request that was let in under one config is left by the guards it entered,
// whatever the config is by then.
func TestGuardsSurviveApply(t *testing.T) {
	g := newTill(10)
	var never regulators.Guard = newTill(10)
	c := NewQuiet(t, Config{}, WithGuard("till", g), WithGuard("z", never))
	before := hold(t, c, Request{Tenant: "acme", Key: "k", Bytes: 4})
	cfg := Config{Regulators: map[string]RegulatorConfig{"till": {By: "tenant", Counts: "bytes"}}}
	if err := c.Apply(cfg); err != nil {
		t.Fatal(err)
	}
	after := hold(t, c, Request{Tenant: "acme", Key: "k", Bytes: 4})
	if got := g.holds(); !maps.Equal(got, map[string]int64{"k": 1, "acme": 4}) {
		t.Errorf("holds %v", got)
	}
	before.Release(Success)
	after.Release(Success)
	if got := g.holds(); len(got) != 0 {
		t.Errorf("holds %v", got)
	}
}
