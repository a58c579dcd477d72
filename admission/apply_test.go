package admission

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/regulators"
	"github.com/spillway-go/spillway/scorecard"
)

// A raised limit lets waiters go at once, a lowered one takes nothing from who
// runs and lets nobody in until it has drained.
func TestApplyMovesTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewQuiet(t, Pinned(1, 10))
		apply := func(cfg Config) {
			t.Helper()
			if err := c.Apply(cfg); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		tickets := []Ticket{hold(t, c, Request{})}
		var waiters []<-chan answer
		for range 3 {
			waiters = append(waiters, enqueue(t.Context(), c, Request{}))
		}
		synctest.Wait()
		apply(Pinned(4, 10))
		for _, w := range waiters {
			got := <-w
			if got.err != nil || got.took != 0 {
				t.Fatalf("%v after %v, want a slot when the limit is raised", got.err, got.took)
			}
			tickets = append(tickets, got.ticket)
		}
		apply(Pinned(2, 10))
		last := enqueue(t.Context(), c, Request{})
		for left := 4; left > 2; left-- {
			synctest.Wait()
			if l := only(t, c); l.Limit != 2 || l.Inflight != left || queued(t, c) != 1 {
				t.Errorf("limit %d, inflight %d, queued %d; want 2, %d, 1", l.Limit, l.Inflight, queued(t, c), left)
			}
			tickets[left-1].Release(Success)
		}
		synctest.Wait()
		if queued(t, c) != 1 {
			t.Error("somebody was let in while as many ran as the limit says")
		}
		tickets[1].Release(Success)
		if got := <-last; got.err != nil {
			t.Error(got.err)
		} else {
			got.ticket.Release(Success)
		}
		tickets[0].Release(Success)
	})
}

// A removed lane drains: what runs may end, who waits is served or expires, and
// newcomers are told that there is no such lane.
func TestApplyRemovesALane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lane := Pinned(1, 10).Lanes["default"]
		two := Config{Lanes: map[string]LaneConfig{"default": lane, "write": lane}}
		c := NewQuiet(t, two)
		write := Request{Lane: "write"}
		first := hold(t, c, write)
		second := enqueue(t.Context(), c, write)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		third := enqueue(ctx, c, write)
		synctest.Wait()
		if err := c.Apply(Pinned(1, 10)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Admit(t.Context(), write); err == nil || errors.Is(err, ErrShed) || !strings.Contains(err.Error(), `"write"`) {
			t.Errorf("err = %v, want one that names the lane", err)
		}
		if got := <-third; got.err == nil || got.took > 1001*time.Millisecond {
			t.Errorf("%v after %v, want it to expire as before", got.err, got.took)
		}
		if l, ok := c.Stats().Lane("write"); !ok || l.Inflight != 1 || l.Queued[T3] != 1 {
			t.Errorf("draining: %v, inflight %d, queued %v", ok, l.Inflight, l.Queued)
		}
		first.Release(Success)
		if got := <-second; got.err != nil {
			t.Errorf("the waiter was refused: %v", got.err)
		} else {
			got.ticket.Release(Success)
		}
		time.Sleep(time.Second)
		if _, ok := c.Stats().Lane("write"); ok {
			t.Error("the lane is still there though it has drained")
		}
		if err := c.Apply(two); err != nil {
			t.Fatal(err)
		}
		hold(t, c, write).Release(Success)
	})
}

// Who is still on his way to a lane when it goes is not left waiting in it.
func TestApplyRemovesALaneSomebodyIsOnTheWayTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lane := Pinned(1, 10).Lanes["default"]
		go1 := make(chan struct{})
		slow := &stageFuncs{name: "slow", enter: func(*Request) error { <-go1; return nil }}
		c := NewQuiet(t, Config{Lanes: map[string]LaneConfig{"default": lane, "write": lane}}, WithStages(slow))
		var late []<-chan answer
		for range 3 {
			late = append(late, enqueue(t.Context(), c, Request{Lane: "write"}))
		}
		synctest.Wait()
		if err := c.Apply(Pinned(1, 10)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		close(go1)
		for _, l := range late {
			got := <-l
			if got.took > 2*time.Minute {
				t.Errorf("told after %v (%v): nobody looks after the lane", got.took, got.err)
			}
			got.ticket.Release(Success)
		}
		if slow.entered != slow.exited {
			t.Errorf("%d entered, %d exited", slow.entered, slow.exited)
		}
	})
}

// A bad config changes nothing at all, and everything that is wrong with it is
// said at once, with field and value.
func TestApplyRefusesABadConfigWhole(t *testing.T) {
	c := NewQuiet(t, tenantCap(Pinned(3, 7), 2), WithSignal("lag", regulators.Func(func(context.Context) (float64, error) { return 0, nil })))
	before := c.Config()
	bad := Config{
		Mode: 7,
		Lanes: map[string]LaneConfig{
			"default": {Limit: LimitConfig{Min: 9, Max: 5}, Deadline: -time.Second},
			"write":   {Gate: GateConfig{Law: "magic"}, Limit: LimitConfig{Fixed: -4}},
		},
		Priorities: PriorityConfig{Default: 12345, Callers: map[string]Priority{"a*b": NewPriority(T1, 0)}},
		Scorecard:  ScorecardConfig{MaxTenants: -5, Rules: []scorecard.Rule{{Name: "broken", Match: "tenant"}}},
		Regulators: map[string]RegulatorConfig{"lag": {Setpoint: -2, Period: time.Millisecond, Lanes: []string{"nowhere"}}},
	}
	err := c.Apply(bad)
	if err == nil {
		t.Fatal("a bad config was applied")
	}
	for _, want := range []string{
		"mode", "7", "min", "9", "deadline", "-1s", `"magic"`, "fixed", "-4", "priorities.default", "12345", `"a*b"`,
		"max_tenants", "-5", "broken", "setpoint", "-2", "period", "1ms", `"nowhere"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
	if !reflect.DeepEqual(c.Config(), before) || only(t, c).Limit != 3 || len(c.Stats().Lanes) != 1 {
		t.Error("a bad config has changed something")
	}
	if _, err := New(bad); err == nil {
		t.Error("New takes it")
	}
}

// What was learned and counted survives: the limit, the scorecard's holds, the
// counters.
func TestApplyKeepsWhatWasLearned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := tenantCap(Config{Lanes: map[string]LaneConfig{"default": {Limit: LimitConfig{Initial: 8}, Deadline: time.Second}}}, 50)
		c := NewQuiet(t, cfg)
		begin := time.Now()
		stop := begin.Add(20 * time.Second)
		done := make(chan int)
		for i := range 60 {
			go func() {
				n := 0
				for time.Now().Before(stop) {
					if work(context.Background(), c, Request{Tenant: "t" + string(rune('a'+i%20))}, 20*time.Millisecond) == nil {
						n++
					} else {
						time.Sleep(time.Millisecond)
					}
				}
				done <- n
			}()
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		learned, good := only(t, c).Limit, only(t, c).Tiers[T3].Admitted
		t.Logf("learned a limit of %d", learned)
		if learned < 16 {
			t.Fatalf("limit is %d, nothing was learned", learned)
		}
		holding := held(c)
		for range 100 {
			cfg.Priorities.Callers = map[string]Priority{"x": NewPriority(T1, 0)}
			if err := c.Apply(cfg); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if l := only(t, c); l.Limit != learned || l.Tiers[T3].Admitted != good || held(c) != holding {
			t.Errorf("limit %d was %d, admitted %d was %d, held %d was %d", l.Limit, learned, l.Tiers[T3].Admitted, good, held(c), holding)
		}
		for range 60 {
			<-done
		}
	})
}
