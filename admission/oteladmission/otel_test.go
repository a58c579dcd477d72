package oteladmission_test

import (
	"context"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/oteladmission"
	"github.com/spillway-go/spillway/internal/admissiontest"
	"github.com/spillway-go/spillway/regulators"
	"github.com/spillway-go/spillway/scorecard"
)

// pinned is one lane of so many slots.
func pinned(limit int) admission.Config { return admissiontest.Only(admissiontest.Pinned(limit, 1)) }

func register(tb testing.TB, p metric.MeterProvider, c *admission.Controller, opts ...oteladmission.Option) metric.Registration {
	tb.Helper()
	r, err := oteladmission.Register(p, c, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func hooks(tb testing.TB, p metric.MeterProvider, next admission.Hooks, opts ...oteladmission.Option) admission.Option {
	tb.Helper()
	h, err := oteladmission.Hooks(p, next, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return admission.WithHooks(h)
}

// The table in the package comment is what an SDK is told.
func TestReferenceIsTrue(t *testing.T) {
	s := newSDK()
	register(t, s, start(t, admission.Config{}, hooks(t, s, admission.Hooks{})))
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, row := range regexp.MustCompile(`(?m)^//\t([a-z_.]+) +(counter|updowncounter|gauge|histogram) +(\S+)`).FindAllStringSubmatch(string(doc), -1) {
		want["admission."+row[1]] = row[2] + " " + row[3]
	}
	if !maps.Equal(s.instruments, want) {
		t.Errorf("instruments are\n%v\nthe table says\n%v", s.instruments, want)
	}
}

// Everything is observed once, with the attributes that the table names.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := pinned(1)
		cfg.Scorecard.Rules = []scorecard.Rule{{Name: "each", Match: "tenant:*", Cap: scorecard.Cap{N: 9}}}
		c := start(t, cfg,
			admission.WithSignal("lag", regulators.Func(func(context.Context) (float64, error) { return 0.5, nil })))
		s := newSDK()
		r := register(t, s, c, oteladmission.WithName("orders"))
		ctx := t.Context()
		held, err := c.Admit(ctx, admission.Request{Tenant: "acme", Priority: admission.T1.Priority()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.TryAdmit(ctx, admission.Request{}); err == nil {
			t.Fatal("admitted")
		}
		time.Sleep(2 * time.Second)
		got := s.collect(t)
		for key, want := range map[string]float64{
			"admission.requests admission.decision=admitted,admission.lane=default,admission.limiter=orders,admission.priority=t1":                     1,
			"admission.requests admission.decision=shed,admission.lane=default,admission.limiter=orders,admission.priority=t3,admission.reason=limit":  1,
			"admission.requests admission.decision=shed,admission.lane=default,admission.limiter=orders,admission.priority=t5,admission.reason=closed": 0,
			"admission.inflight admission.lane=default,admission.limiter=orders":                                                                       1,
			"admission.limit admission.lane=default,admission.limiter=orders":                                                                          1,
			"admission.regulator.signal admission.limiter=orders,admission.regulator=lag":                                                              0.5,
			"admission.rule.inflight admission.limiter=orders,admission.rule=each":                                                                     1,
		} {
			if v, ok := got[key]; !ok || v != want {
				t.Errorf("%s is %v (there: %v), want %v", key, v, ok, want)
			}
		}
		for key := range got {
			if strings.HasPrefix(key, "twice") || strings.Contains(key, "acme") {
				t.Error(key)
			}
		}
		held.Release(admission.Success)
		if err := r.Unregister(); err != nil || len(s.collect(t)) > 0 {
			t.Errorf("after Unregister (%v) something is observed", err)
		}
	})
}

// Two controllers share a provider; of the one that is closed only counts are left. (B35)
func TestB35TwoControllers(t *testing.T) {
	s := newSDK()
	a, b := start(t, admission.Config{}), start(t, admission.Config{})
	register(t, s, a, oteladmission.WithName("a"))
	register(t, s, b, oteladmission.WithName("b"))
	for range 100 {
		for _, c := range []*admission.Controller{a, b} {
			if err := c.Apply(admission.Config{}); err != nil {
				t.Fatal(err)
			}
			_ = c.Do(t.Context(), admission.Request{}, func(context.Context) error { return nil })
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	got := s.collect(t)
	for _, name := range []string{"a", "b"} {
		if n := got["admission.requests admission.decision=admitted,admission.lane=default,admission.limiter="+name+",admission.priority=t3"]; n != 100 {
			t.Errorf("%s admitted %v of 100", name, n)
		}
		if _, ok := got["admission.limit admission.lane=default,admission.limiter="+name]; ok != (name == "b") {
			t.Errorf("%s: has a limit: %v", name, ok)
		}
	}
}

// A span is told of the decision, with an event only if the request was shed or
// waited for long; then the program's own hooks are called.
func TestSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, told := newSDK(), 0
		c := start(t, pinned(1), hooks(t, s, admission.Hooks{
			Admit: func(context.Context, admission.Admission) { told++ },
			Shed:  func(context.Context, admission.Refusal) { told++ },
		}, oteladmission.EveryDecision()))
		r := admission.Request{Priority: admission.NewPriority(admission.T1, 7)}
		check := func(got *span, status, events string, want map[string]string) {
			t.Helper()
			want["admission.lane"], want["admission.limiter"], want["admission.priority"], want["admission.cohort"] = "default", "default", "t1", "7"
			if !maps.Equal(got.attributes, want) || got.status != status || strings.Join(got.events, " ") != events {
				t.Errorf("span has %v, %q, %q, want %v, %q, %q", got.attributes, got.status, got.events, want, status, events)
			}
		}
		ctx, at := spanContext(t.Context(), true)
		held, err := c.Admit(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		check(at, "", "", map[string]string{"admission.decision": "admitted"})

		wait := func(d time.Duration) *span {
			ctx, at := spanContext(t.Context(), true)
			done := make(chan admission.Ticket)
			go func() {
				ticket, _ := c.Admit(ctx, r)
				done <- ticket
			}()
			time.Sleep(d)
			held.Release(admission.Success)
			held = <-done
			return at
		}
		check(wait(99*time.Millisecond), "", "", map[string]string{"admission.decision": "admitted", "admission.queue.wait": "0.099"})
		check(wait(time.Second), "", "admission.long_wait", map[string]string{"admission.decision": "admitted", "admission.queue.wait": "1"})

		ctx, at = spanContext(t.Context(), true)
		if _, err := c.TryAdmit(ctx, r); err == nil {
			t.Fatal("admitted")
		}
		check(at, "Error shed: limit", "admission.shed", map[string]string{
			"admission.decision": "shed", "admission.reason": "limit", "admission.stage": "limit",
		})
		held.Release(admission.Success)

		cfg := pinned(1)
		cfg.Mode = admission.Shadow
		if err := c.Apply(cfg); err != nil {
			t.Fatal(err)
		}
		first, _ := c.TryAdmit(t.Context(), r)
		ctx, at = spanContext(t.Context(), true)
		second, _ := c.TryAdmit(ctx, r)
		check(at, "", "admission.shadow_shed", map[string]string{
			"admission.decision": "admitted", "admission.reason": "limit", "admission.stage": "limit",
		})
		first.Release(admission.Success)
		second.Release(admission.Success)
		if told != 6 {
			t.Errorf("the program's hooks were called %d times, want 6", told)
		}
		key := "admission.request.queue.duration admission.lane=default,admission.limiter=default,admission.priority=t1"
		if waits := s.waits[key]; len(s.waits) != 1 || len(waits) != 2 || waits[0] != 0.099 || waits[1] != 1 {
			t.Errorf("waits are %v", s.waits)
		}
	})
}

// Without EveryDecision a span says nothing of a request that did not wait, and all
// else; the program's own hook is called for the waits it asks for, none or some.
func TestSpansOfThoseThatWait(t *testing.T) {
	for minWait, want := range map[time.Duration]int{0: 3, time.Second: 1} {
		synctest.Test(t, func(t *testing.T) {
			s, told := newSDK(), 0
			next := admission.Hooks{MinWait: minWait, Admit: func(context.Context, admission.Admission) { told++ }}
			c := start(t, pinned(1), hooks(t, s, next))
			ctx, at := spanContext(t.Context(), true)
			held, err := c.Admit(ctx, admission.Request{})
			if err != nil || len(at.attributes) > 0 {
				t.Errorf("the span has %v, error %v", at.attributes, err)
			}
			for _, d := range []time.Duration{time.Millisecond, time.Second} {
				ctx, at := spanContext(t.Context(), true)
				time.AfterFunc(d, func() { held.Release(admission.Success) })
				ticket, err := c.Admit(ctx, admission.Request{})
				if err != nil || at.attributes["admission.decision"] != "admitted" {
					t.Errorf("after %v the span has %v, error %v", d, at.attributes, err)
				}
				held = ticket
			}
			ctx, at = spanContext(t.Context(), true)
			if _, err := c.TryAdmit(ctx, admission.Request{}); err == nil || at.attributes["admission.decision"] != "shed" {
				t.Errorf("shed: the span has %v, error %v", at.attributes, err)
			}
			held.Release(admission.Success)
			if told != want || len(s.waits) != 1 {
				t.Errorf("MinWait %v: told %d times, want %d; waits are %v", minWait, told, want, s.waits)
			}
		})
	}
}

// Whose span does not record pays no allocation, admitted or shed.
func TestNonRecordingSpanCostsNoAllocation(t *testing.T) {
	c := start(t, pinned(1), hooks(t, newSDK(), admission.Hooks{}))
	ctx, at := spanContext(t.Context(), false)
	for _, ctx := range []context.Context{ctx, t.Context()} {
		if n := testing.AllocsPerRun(1000, func() {
			ticket, err := c.Admit(ctx, admission.Request{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.TryAdmit(ctx, admission.Request{}); err == nil {
				t.Fatal("admitted")
			}
			ticket.Release(admission.Success)
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
	if len(at.attributes)+len(at.events) > 0 {
		t.Error("it was told something")
	}
}

func TestBadArguments(t *testing.T) {
	c, p := start(t, admission.Config{}), noop.NewMeterProvider()
	for _, tc := range []struct {
		p    metric.MeterProvider
		c    *admission.Controller
		opt  oteladmission.Option
		want string
	}{
		{nil, c, nil, "meter provider is nil"},
		{p, nil, nil, "controller is nil"},
		{p, c, oteladmission.WithName(""), `name is ""`},
		{p, c, oteladmission.WithLongWait(-time.Second), "long wait is -1s"},
		{p, c, nil, ""},
	} {
		_, err := oteladmission.Register(tc.p, tc.c, tc.opt)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("error is %v, want %q", err, tc.want)
		}
	}
	if _, err := oteladmission.Hooks(nil, admission.Hooks{}, oteladmission.WithName("\xff")); err == nil {
		t.Error("a name that is no UTF-8 was taken")
	}
}
