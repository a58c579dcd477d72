package configfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/regulators"
)

// What reloads must keep of what was learned: (a) the same file a hundred times and
// (b) a change of something else leave limit, gate, queue, PID and counts as they are.
func TestB27ReloadsKeepWhatWasLearned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := func(more string) string {
			return "lanes: {default: {limit: {initial: 8}, deadline: 1s}}\nregulators: {lag: {setpoint: 1}}\n" + more +
				"scorecard: {rules: [{name: acme, match: \"tenant:acme\", cap: 5}]}\n"
		}
		path := tempFile(t, text(""))
		lag := admission.WithSignal("lag", regulators.Func(func(context.Context) (float64, error) { return 1.02, nil }))
		cfg, err := Load(path, With(lag))
		if err != nil {
			t.Fatal(err)
		}
		ctrl, err := admission.New(cfg, lag)
		if err != nil {
			t.Fatal(err)
		}
		look := looker(t, path, ctrl)
		look()
		for range 5 { // acme's five
			ticket, err := ctrl.Admit(t.Context(), admission.Request{Tenant: "acme", Priority: admission.T0.Priority()})
			if err != nil {
				t.Fatal(err)
			}
			defer ticket.Release(admission.Ignore)
		}
		ctx, stop := context.WithCancel(t.Context())
		var clients sync.WaitGroup
		defer func() {
			stop()
			clients.Wait()
			if err := ctrl.Close(); err != nil {
				t.Error(err)
			}
		}()
		for range 60 {
			clients.Go(func() {
				for ctx.Err() == nil {
					err := ctrl.Do(ctx, admission.Request{}, func(context.Context) error { time.Sleep(20 * time.Millisecond); return nil })
					if err != nil {
						time.Sleep(time.Millisecond)
					}
				}
			})
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		state := func() admission.Stats {
			s := ctrl.Stats()
			s.Config = admission.ConfigStats{}
			return s
		}
		before := state()
		if l := before.Lanes[0]; l.Limit < 16 || l.ShedRatio == 0 || before.Signals[0].Terms.I == 0 {
			t.Fatalf("nothing was learned: limit %d, ratio %v, %+v", l.Limit, l.ShedRatio, before.Signals[0].Terms)
		}
		version := ctrl.Stats().Config.Version
		same := func(when string) {
			t.Helper()
			if after := state(); !reflect.DeepEqual(after, before) {
				t.Errorf("%s:\n%+v\nwas\n%+v", when, after, before)
			}
			_, err := ctrl.TryAdmit(t.Context(), admission.Request{Tenant: "acme", Priority: admission.T0.Priority()})
			if refused, ok := errors.AsType[*admission.ShedError](err); !ok || refused.Reason != admission.ReasonTenantCap {
				t.Errorf("%s: acme's sixth: %v", when, err)
			}
			before = state()
		}
		for range 100 {
			write(t, path, text(""))
			look()
		}
		same("the same file")
		for i := range 100 {
			write(t, path, text(fmt.Sprintf("priorities: {callers: {x%d: t1}}\n", i)))
			look()
		}
		same("an unrelated change")
		if got := ctrl.Stats().Config.Version; got != version+100 {
			t.Errorf("%d changes were applied, want 100", got-version)
		}
	})
}

// What waits lives through reloads too: those who are queued keep their places when a
// cap falls below what is held, and get their slots at once when there are more.
func TestB27ReloadsKeepWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := func(limit, acme int) string {
			return fmt.Sprintf("lanes: {default: {limit: {fixed: %d}, gate: {law: off}, deadline: 1h}}\nscorecard: {rules: [{name: acme, match: \"tenant:acme\", cap: %d}]}\n", limit, acme)
		}
		path := tempFile(t, text(5, 7))
		ctrl := control(t, path)
		look := looker(t, path, ctrl)
		look()
		acme := admission.Request{Tenant: "acme"}
		in := make(chan admission.Ticket, 10)
		ask := func() {
			ticket, err := ctrl.Admit(t.Context(), acme)
			if err != nil {
				t.Error(err)
			}
			in <- ticket
		}
		now := func(when string, running, queued, held int) {
			t.Helper()
			synctest.Wait()
			s := ctrl.Stats()
			l, n := s.Lanes[0], 0
			for _, q := range l.Queued {
				n += q
			}
			if l.Inflight != running || n != queued || s.Rules[0].Held != held || len(in) != running {
				t.Errorf("%s: %d running, %d queued, %d held; want %d, %d, %d", when, l.Inflight, n, s.Rules[0].Held, running, queued, held)
			}
		}
		refused := func() {
			t.Helper()
			if ticket, err := ctrl.TryAdmit(t.Context(), acme); err == nil {
				t.Error("one more of acme's was let in")
				ticket.Release(admission.Ignore)
			}
		}
		for range 7 {
			go ask()
		}
		now("at first", 5, 2, 7)
		for range 100 {
			write(t, path, text(5, 7))
			look()
		}
		now("the same file", 5, 2, 7)
		write(t, path, text(5, 2))
		look()
		now("a lower cap", 5, 2, 7)
		refused()
		write(t, path, text(8, 8))
		look()
		now("more slots", 7, 0, 7)
		go ask()
		now("and one more", 8, 0, 8)
		refused()
		write(t, path, text(8, 2))
		look()
		for held := 8; held > 2; held-- {
			refused()
			(<-in).Release(admission.Success)
		}
		refused()
		(<-in).Release(admission.Success)
		now("under the lower cap", 1, 0, 1)
		go ask()
		now("one is let in", 2, 0, 2)
		for range 2 {
			(<-in).Release(admission.Success)
		}
	})
}

// Each way to write a duration wrong fails at the start and by reload, where the old
// config stays; what is right is in force as it was meant.
func TestB38DurationsAtStartAndByReload(t *testing.T) {
	text := func(lines string) string {
		return "lanes:\n  default:\n    queue:\n      law: codel\n      " + strings.ReplaceAll(lines, "; ", "\n      ") + "\n"
	}
	path := tempFile(t, text("target: 7ms"))
	ctrl := control(t, path)
	look := looker(t, path, ctrl)
	look()
	refused := ctrl.Stats().Config.Refused
	version := ctrl.Stats().Config.Version
	for _, lines := range []string{
		"target: 5", `target: "5"`, "interval: 100", "max_wait: 1.5", "target: 5 ms", "target: -5ms", "target: 0", "target: 200ms; interval: 100ms",
	} {
		write(t, path, text(lines))
		name, _, _ := strings.Cut(lines, ":")
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), `"default"].queue.`+name) {
			t.Errorf("%s at the start: %v, want an error that names %s", lines, err, name)
		}
		look()
		refused++
		s := ctrl.Stats().Config
		if q := ctrl.Config().Lanes["default"].Queue; q.Target != 7*time.Millisecond || s.Version != version || s.Refused != refused || s.Err == nil {
			t.Errorf("%s by reload: target %v, %+v", lines, q.Target, s)
		}
	}
	for lines, want := range map[string][2]time.Duration{
		"target: 5ms": {5 * time.Millisecond, 100 * time.Millisecond}, "interval: 0.1s": {5 * time.Millisecond, 100 * time.Millisecond},
	} {
		write(t, path, text(lines))
		look()
		if q := ctrl.Config().Lanes["default"].Queue; [2]time.Duration{q.Target, q.Interval} != want || ctrl.Stats().Config.Err != nil {
			t.Errorf("%s: %v and %v, %v; want %v", lines, q.Target, q.Interval, ctrl.Stats().Config.Err, want)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Error(err)
	}
}
