package admission

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/spillway-go/spillway/regulators"
	"github.com/spillway-go/spillway/scorecard"
)

// While there is something to see a moment is kept each second, of lanes and signals;
// an idle controller adds none, and the memory of a busy one is bounded.
func TestMomentsAreKeptEachSecondOfWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewQuiet(t, Pinned(1, 1))
		begin := time.Now()
		for range 20 {
			ticket := hold(t, c, Request{Priority: T1.Priority()})
			_, err := c.TryAdmit(t.Context(), Request{Priority: T4.Priority()})
			wantShed(t, err, ReasonLimit)
			time.Sleep(500 * time.Millisecond)
			ticket.Release(Success)
		}
		got := c.Recent().Moments
		if n := len(got); n < 10 || n > 11 {
			t.Fatalf("%d moments of 10 s, want one a second", n)
		}
		for i := 1; i < len(got); i++ {
			if gap := got[i].At.Sub(got[i-1].At); gap < time.Second || gap > 1100*time.Millisecond {
				t.Errorf("%v between moments %d and %d, want a second", gap, i-1, i)
			}
		}
		first, last := got[1].Lanes[0], got[len(got)-1].Lanes[0]
		if n := int(last.Admitted[1] - first.Admitted[1]); last.Limit != 1 || n < 2*(len(got)-3) || n > 2*(len(got)-1) {
			t.Errorf("the last moment is %+v after %+v", last, first)
		}
		if last.Shed[4] == 0 || last.Shed[4] != last.Reasons[ReasonLimit] || last.Arrived[4] != last.Shed[4] {
			t.Errorf("the last moment is %+v, want the same refusals by tier and by reason", last)
		}
		time.Sleep(time.Hour)
		if idle := c.Recent().Moments; idle[len(idle)-1].At.Sub(begin) > time.Minute {
			t.Errorf("a moment was kept after %v without any work", idle[len(idle)-1].At.Sub(begin))
		}
		for range 400 {
			hold(t, c, Request{}).Release(Success)
			time.Sleep(time.Second)
		}
		if n := len(c.Recent().Moments); n != momentsKept {
			t.Errorf("%d moments are kept, want %d", n, momentsKept)
		}
	})
}

// Where a cap or a stage refuses all that comes, no lane has anything to do; who looks
// or reads the log must see it all the same, for as long as it lasts.
func TestAllRefusedBeforeTheGateIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lines
		cfg := Pinned(1, 1)
		cfg.Scorecard.Rules = []scorecard.Rule{{Name: "none", Match: "tenant:forbidden"}}
		no := &stageFuncs{name: "no", enter: func(*Request) error { return errMine }}
		c := NewQuiet(t, cfg, WithStages(no), WithLogger(log.logger(slog.LevelInfo)))
		time.Sleep(time.Hour) // all sleeps
		begin := time.Now()
		for range 50 {
			_, err := c.Admit(t.Context(), Request{Tenant: "forbidden"})
			wantShed(t, err, ReasonTenantCap)
			_, err = c.Admit(t.Context(), Request{})
			wantShed(t, err, ReasonStage)
			time.Sleep(time.Second)
		}
		r := c.Recent()
		last := r.Moments[len(r.Moments)-1]
		if n := last.Lanes[0].Reasons[ReasonTenantCap]; time.Since(last.At) > 2*time.Second || n < 48 {
			t.Errorf("the last moment is %v old and has %d of 50", time.Since(last.At), n)
		}
		for _, s := range r.Sheds {
			if s.At.Sub(begin) < 40*time.Second {
				t.Errorf("%v is kept of %v after the beginning, though 50 came", s.Err.Reason, s.At.Sub(begin))
			}
		}
		time.Sleep(time.Hour)
		if idle := c.Recent().Moments; idle[len(idle)-1].At.Sub(begin) > 2*time.Minute {
			t.Errorf("a moment was kept after %v, when nobody came", idle[len(idle)-1].At.Sub(begin))
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		told := strings.Join(log.lines, "\n")
		if len(log.lines) != 2 || !strings.Contains(told, "shedding began") || !strings.Contains(told, "shedding ended") {
			t.Errorf("the log says\n%s", told)
		}
	})
}

func TestMomentsHaveTheSignals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Config{Regulators: map[string]RegulatorConfig{"lag": {Setpoint: 0.8}}}
		lag := func(context.Context) (float64, error) { return 1.4, nil }
		c := NewQuiet(t, cfg, WithSignal("lag", regulators.Func(lag)))
		time.Sleep(5 * time.Second)
		got := c.Recent().Moments
		if len(got) < 4 {
			t.Fatalf("%d moments of 5 s with a signal", len(got))
		}
		want := SignalMoment{Name: "lag", Setpoint: 0.8, Pressure: 1.4}
		if s := got[len(got)-1].Signals; len(s) != 1 || s[0] != want {
			t.Errorf("signals are %+v, want %+v", s, want)
		}
	})
}

// The frequent reason does not hide the rare one, and what a request brought is cut.
func TestSomeOfTheLastShedsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Pinned(1, 1)
		cfg.Scorecard.Rules = []scorecard.Rule{{Name: "none", Match: "tenant:forbidden", Cap: scorecard.Cap{}}}
		c := NewQuiet(t, cfg)
		_, err := c.TryAdmit(t.Context(), Request{Tenant: "forbidden", Key: strings.Repeat("ä", 100)})
		wantShed(t, err, ReasonTenantCap)
		ticket := hold(t, c, Request{})
		for range 100 {
			for range 100 {
				_, err := c.TryAdmit(t.Context(), Request{Priority: NewPriority(T4, 7), Tenant: "acme", Op: "read"})
				wantShed(t, err, ReasonLimit)
			}
			time.Sleep(100 * time.Millisecond)
		}
		ticket.Release(Success)
		got := c.Recent().Sheds
		if len(got) != shedsKept+1 {
			t.Fatalf("%d refusals are kept, want %d of one reason and 1 of the other", len(got), shedsKept)
		}
		for i, s := range got[:shedsKept] {
			if s.Err.Reason != ReasonLimit || s.Tenant != "acme" || s.Op != "read" || s.Priority != NewPriority(T4, 7) {
				t.Errorf("refusal %d is %+v", i, s)
			}
			if i > 0 && s.At.After(got[i-1].At) {
				t.Errorf("refusal %d is newer than the one before it", i)
			}
		}
		// Less the time between two arrivals: the loop makes room at the moment of one of
		// them, before it or after.
		if span := got[0].At.Sub(got[shedsKept-1].At); span < 3*time.Second-100*time.Millisecond {
			t.Errorf("the kept ones are of %v: at most two are taken a second", span)
		}
		rare := got[shedsKept]
		if rare.Err.Reason != ReasonTenantCap || rare.Cause == nil || rare.Priority.Tier() != T3 {
			t.Errorf("the rare refusal is %+v", rare)
		}
		if !utf8.ValidString(rare.Key) || len(rare.Key) != 64 {
			t.Errorf("its key is %q, want the first 64 bytes", rare.Key)
		}
	})
}

func TestToKeepARefusalAllocatesNothing(t *testing.T) {
	var s shedSamples
	r := Request{Tenant: "acme", Caller: "checkout", Op: "read", Key: strings.Repeat("k", 100)}
	err := &ShedError{Reason: ReasonPriority}
	if n := testing.AllocsPerRun(100, func() {
		s.makeRoom()
		if !s.wants(ReasonPriority) {
			t.Fatal("there is room and it is not wanted")
		}
		s.take(time.Time{}, &r, 3, err, nil, false)
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func TestRecentWhileRequestsCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Pinned(2, 1)
		cfg.Mode = Shadow
		c := NewQuiet(t, cfg)
		var wg sync.WaitGroup
		arrivals(&wg, 500, 5*time.Second, func(i int) {
			ticket, err := c.TryAdmit(context.Background(), Request{})
			if err != nil {
				t.Error(err)
			}
			c.Recent()
			time.Sleep(50 * time.Millisecond)
			ticket.Release(Success)
		})
		wg.Wait()
		r := c.Recent()
		if len(r.Sheds) == 0 || !r.Sheds[0].Shadow {
			t.Errorf("the refusals of mode shadow are %+v", r.Sheds)
		}
		if m := r.Moments[len(r.Moments)-1].Lanes[0]; m.Shed[T3] == 0 {
			t.Errorf("the last moment is %+v, want what would have been shed", m)
		}
	})
	var none *Controller
	if r := none.Recent(); r.Moments != nil || r.Sheds != nil {
		t.Errorf("a nil controller remembers %+v", r)
	}
}
