package promadmission_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/promadmission"
	"github.com/spillway-go/spillway/regulators"
	"github.com/spillway-go/spillway/scorecard"
)

// start makes a controller that is closed when the test ends.
func start(tb testing.TB, cfg admission.Config, opts ...admission.Option) *admission.Controller {
	tb.Helper()
	c, err := admission.New(cfg, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
	return c
}

func register(tb testing.TB, reg prometheus.Registerer, c *admission.Controller, opts ...promadmission.Option) {
	tb.Helper()
	if err := promadmission.Register(reg, c, opts...); err != nil {
		tb.Fatal(err)
	}
}

// scrape is a scrape's families, by name without the common prefix.
func scrape(tb testing.TB, reg prometheus.Gatherer) map[string]*dto.MetricFamily {
	tb.Helper()
	families, err := reg.Gather()
	if err != nil {
		tb.Fatal(err)
	}
	byName := map[string]*dto.MetricFamily{}
	for _, f := range families {
		name, ok := strings.CutPrefix(f.GetName(), "admission_")
		if !ok {
			tb.Errorf("%s has not the prefix", f.GetName())
		}
		byName[name] = f
	}
	return byName
}

// series is every value of a family by its labels, but limiter and those that are empty;
// of a histogram the count.
func series(f *dto.MetricFamily) map[string]float64 {
	values := map[string]float64{}
	for _, m := range f.GetMetric() {
		var labels []string
		for _, l := range m.GetLabel() {
			if l.GetName() != "limiter" && l.GetValue() != "" {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
		}
		values[strings.Join(labels, " ")] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
	}
	return values
}

func want(tb testing.TB, got map[string]*dto.MetricFamily, name, labels string, value float64) {
	tb.Helper()
	if v, ok := series(got[name])[labels]; !ok || v != value {
		tb.Errorf("%s{%s} is %v (there: %v), want %v", name, labels, v, ok, value)
	}
}

// pinned is a lane of so many slots whose waiters wait for as long as they like.
func pinned(limit int) admission.LaneConfig {
	l := admission.LaneConfig{Limit: admission.LimitConfig{Fixed: limit}, Gate: admission.GateConfig{Law: "off"}, Deadline: time.Hour}
	l.Queue.Capacity, l.Queue.Law = 10, "codel"
	l.Queue.Target, l.Queue.Interval = 59*time.Minute, time.Hour
	return l
}

// keyedFunc is a keyed signal.
type keyedFunc func() (map[string]float64, error)

func (f keyedFunc) Pressures(context.Context) (map[string]float64, error) { return f() }

// guard refuses everything but nothing of key "".
type guard struct{}

func (guard) Enter(_ time.Time, key string, _ int64) error {
	if key == "hot" {
		return errors.New("hot")
	}
	return nil
}
func (guard) Exit(string, int64) {}

// everything is a controller that has something of every metric to show.
func everything(t *testing.T) (*admission.Controller, func()) {
	c := start(t, admission.Config{
		Mode:      admission.Shadow,
		Lanes:     map[string]admission.LaneConfig{"default": pinned(1), "write": {}},
		Scorecard: admission.ScorecardConfig{Rules: []scorecard.Rule{{Name: "each", Match: "tenant:*", Cap: scorecard.Cap{N: 1}}}},
	},
		admission.WithSignal("lag", regulators.Func(func(context.Context) (float64, error) { return 2, nil })),
		admission.WithKeyedSignal("bytes", keyedFunc(func() (map[string]float64, error) { return map[string]float64{"acme": 3}, nil })),
		admission.WithGuard("hot", guard{}))
	ctx := t.Context()
	var held []admission.Ticket
	for i := range 100 {
		r := admission.Request{Tenant: fmt.Sprintf("t%d", i), Key: "hot"}
		if i >= 3 {
			r.Key = "" // and on to the gate, which lag has shed
		}
		tk, err := c.Admit(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		if i < 3 {
			held = append(held, tk)
		} else {
			tk.Release(admission.Success)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return c, func() {
		for _, tk := range held {
			tk.Release(admission.Success)
		}
	}
}

// The table in the package comment is what a scrape says: names, types, labels.
func TestReferenceIsTrue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, release := everything(t)
		defer release()
		reg := prometheus.NewPedanticRegistry()
		register(t, reg, c, promadmission.WithTopTenants(5))
		got := map[string]string{}
		for name, f := range scrape(t, reg) {
			labels := map[string]bool{}
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					labels[l.GetName()] = true
				}
			}
			if !labels["limiter"] || f.GetHelp() == "" {
				t.Errorf("%s: has no label limiter, or no help", name)
			}
			delete(labels, "limiter")
			got[name] = fmt.Sprint(strings.ToLower(f.GetType().String()), " ", slices.Sorted(maps.Keys(labels)))
		}
		doc, err := os.ReadFile("doc.go")
		if err != nil {
			t.Fatal(err)
		}
		want, units := map[string]string{}, map[string]string{}
		for _, row := range regexp.MustCompile(`(?m)^//\t([a-z_]+) +(counter|gauge|histogram) +(\S+(?: or \S)?) *(.*)$`).FindAllStringSubmatch(string(doc), -1) {
			labels := slices.DeleteFunc(strings.Split(row[4], ", "), func(l string) bool { return l == "" })
			slices.Sort(labels)
			want[row[1]], units[row[1]] = fmt.Sprint(row[2], " ", labels), row[3]
		}
		for name, w := range want {
			if got[name] != w {
				t.Errorf("%s: the table says %q, a scrape %q", name, w, got[name])
			}
			if strings.HasSuffix(name, "_seconds") != (units[name] == "seconds") {
				t.Errorf("%s: the table says %s", name, units[name])
			}
		}
		for name, g := range got {
			if want[name] == "" {
				t.Errorf("%s %s: is not in the table", name, g)
			}
		}
		families, _ := reg.Gather() // it was good a moment ago
		if problems, err := promlint.NewWithMetricFamilies(families).Lint(); err != nil || len(problems) > 0 {
			t.Errorf("lint: %v, %v", problems, err)
		}
	})
}

// What the controller counts is what a scrape shows.
func TestRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, admission.Config{Lanes: map[string]admission.LaneConfig{"default": pinned(1)}})
		reg := prometheus.NewPedanticRegistry()
		register(t, reg, c)
		got := scrape(t, reg)
		want(t, got, "requests_total", "decision=shed lane=default priority=t5 reason=queue-full", 0)
		want(t, got, "gate_threshold", "lane=default", 6)

		ctx := t.Context()
		first, err := c.Admit(ctx, admission.Request{Priority: admission.T1.Priority()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.TryAdmit(ctx, admission.Request{}); err == nil {
			t.Fatal("admitted")
		}
		done := make(chan admission.Ticket)
		go func() {
			tk, _ := c.Admit(ctx, admission.Request{Priority: admission.T2.Priority()})
			done <- tk
		}()
		time.Sleep(3 * time.Second)
		got = scrape(t, reg)
		want(t, got, "requests_total", "decision=admitted lane=default priority=t1", 1)
		want(t, got, "requests_total", "decision=shed lane=default priority=t3 reason=limit", 1)
		want(t, got, "inflight", "lane=default", 1)
		want(t, got, "limit", "lane=default", 1)
		want(t, got, "limit_min", "lane=default", 1)
		want(t, got, "queue_length", "lane=default priority=t2", 1)
		want(t, got, "queue_oldest_seconds", "lane=default", 3)
		want(t, got, "queue_wait_seconds", "lane=default", 1)
		want(t, got, "service_seconds", "lane=default", 0)
		first.Release(admission.Success)
		(<-done).Release(admission.Failure)
		got = scrape(t, reg)
		want(t, got, "outcomes_total", "lane=default outcome=success", 1)
		want(t, got, "outcomes_total", "lane=default outcome=failure", 1)
		want(t, got, "inflight", "lane=default", 0)
		want(t, got, "queue_length", "lane=default priority=t2", 0)
		want(t, got, "service_seconds", "lane=default", 1)
		want(t, got, "queue_wait_seconds", "lane=default", 2)
	})
}

// A lane that is asked for four times what it can do sheds, and all the while its
// demand says so; when the load goes it falls back.
func TestDemandStaysAboveOneWhileItSheds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lane := pinned(10)
		lane.Gate.Law, lane.Deadline = "", 200*time.Millisecond
		c := start(t, admission.Config{Lanes: map[string]admission.LaneConfig{"default": lane}})
		reg := prometheus.NewPedanticRegistry()
		register(t, reg, c)
		for second := range 60 {
			for range 1000 { // of 40 ms on 10 slots, which is 250 a second
				go func() {
					_ = c.Do(t.Context(), admission.Request{}, func(context.Context) error {
						time.Sleep(40 * time.Millisecond)
						return nil
					})
				}()
				time.Sleep(time.Millisecond)
			}
			demand := series(scrape(t, reg)["demand"])["lane=default"]
			if second > 5 && (demand < 3 || demand > 5) {
				t.Errorf("second %d: demand is %v at four times the capacity", second, demand)
			}
		}
		time.Sleep(15 * time.Second)
		scrape(t, reg)
		time.Sleep(15 * time.Second)
		if demand := series(scrape(t, reg)["demand"])["lane=default"]; demand > 0.01 {
			t.Errorf("demand is %v when nobody comes", demand)
		}
	})
}

func TestBadArguments(t *testing.T) {
	c := start(t, admission.Config{})
	reg := prometheus.NewPedanticRegistry()
	for _, tc := range []struct {
		reg  prometheus.Registerer
		ctrl *admission.Controller
		opts []promadmission.Option
		want string
	}{
		{reg, nil, nil, "controller is nil"},
		{nil, c, nil, "registerer is nil"},
		{reg, c, []promadmission.Option{promadmission.WithName("")}, `name is ""`},
		{reg, c, []promadmission.Option{promadmission.WithName("a\xff")}, `name is "a\xff"`},
		{reg, c, []promadmission.Option{promadmission.WithTopTenants(17)}, "top tenants is 17: must be from 0 to 16"},
		{reg, c, []promadmission.Option{promadmission.WithTopTenants(-1)}, "top tenants is -1"},
		{reg, c, []promadmission.Option{nil}, ""},
		{reg, c, nil, "duplicate"},
	} {
		err := promadmission.Register(tc.reg, tc.ctrl, tc.opts...)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("error is %v, want %q", err, tc.want)
		}
	}
}

// Two controllers share a registry; reloads count nothing twice, and of one that
// is closed no gauge is left while the other goes on. (B35)
func TestB35TwoControllers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewPedanticRegistry()
		ctrl := map[string]*admission.Controller{}
		for _, name := range []string{"a", "b"} {
			ctrl[name] = start(t, admission.Config{})
			register(t, reg, ctrl[name], promadmission.WithName(name))
		}
		var already prometheus.AlreadyRegisteredError
		if err := promadmission.Register(reg, ctrl["a"], promadmission.WithName("a")); !errors.As(err, &already) {
			t.Errorf("registered twice: %v", err)
		}
		of := func(name string) (counters, gauges map[string]float64) {
			counters, gauges = map[string]float64{}, map[string]float64{}
			for family, f := range scrape(t, reg) {
				for _, m := range f.Metric {
					i := slices.IndexFunc(m.Label, func(l *dto.LabelPair) bool { return l.GetName() == "limiter" })
					if m.Label[i].GetValue() != name {
						continue
					}
					one := series(&dto.MetricFamily{Metric: []*dto.Metric{m}})
					for labels, v := range one {
						if f.GetType() == dto.MetricType_GAUGE {
							gauges[family+" "+labels] = v
						} else {
							counters[family+" "+labels] = v
						}
					}
				}
			}
			return counters, gauges
		}
		const admitted = "requests_total decision=admitted lane=default priority=t3"
		for range 100 {
			for _, c := range ctrl {
				if err := c.Apply(admission.Config{}); err != nil {
					t.Fatal(err)
				}
				_ = c.Do(t.Context(), admission.Request{}, func(context.Context) error { return nil })
			}
		}
		for name := range ctrl {
			counters, gauges := of(name)
			if counters[admitted] != 100 || counters["outcomes_total lane=default outcome=success"] != 100 || len(gauges) < 20 {
				t.Errorf("%s: %v, %v", name, counters[admitted], gauges)
			}
		}
		running, err := ctrl["a"].Admit(t.Context(), admission.Request{})
		if err != nil {
			t.Fatal(err)
		}
		if err := ctrl["a"].Close(); err != nil {
			t.Fatal(err)
		}
		running.Release(admission.Success)
		if counters, gauges := of("a"); len(gauges) > 0 || counters[admitted] != 101 || counters["outcomes_total lane=default outcome=success"] != 101 {
			t.Errorf("closed: %v, %v", counters[admitted], gauges)
		}
		if counters, gauges := of("b"); counters[admitted] != 100 || len(gauges) < 20 {
			t.Errorf("the other one: %v, %v", counters[admitted], gauges)
		}
	})
}

// Whatever becomes of requests, each is in one counter, no gauge is ever below
// zero, and at the end all are at zero. (B35)
func TestB35EveryRequestOnce(t *testing.T) {
	c := start(t, admission.Config{Lanes: map[string]admission.LaneConfig{"default": pinned(8)}})
	reg := prometheus.NewPedanticRegistry()
	register(t, reg, c)
	const requests, workers = 10_000, 32
	over := make(chan struct{})
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < requests; i += workers {
				request(t.Context(), c, i%5)
			}
		})
	}
	go func() { wg.Wait(); close(over) }()
	for running := true; running; {
		select {
		case <-over:
			running = false
		case <-time.After(time.Millisecond):
		}
		got := scrape(t, reg)
		for _, name := range []string{"inflight", "inflight_max", "overrun", "queue_length", "rule_inflight", "shed_ratio"} {
			for labels, v := range series(got[name]) {
				if v < 0 || !running && v != 0 && name != "inflight_max" {
					t.Errorf("%s{%s} is %v, running: %v", name, labels, v, running)
				}
			}
		}
	}
	got, sum := scrape(t, reg), map[string]float64{}
	for labels, v := range series(got["requests_total"]) {
		decision, _, _ := strings.Cut(labels, " ")
		sum[decision] += v
	}
	for _, v := range series(got["outcomes_total"]) {
		sum["released"] += v
	}
	if all := sum["decision=admitted"] + sum["decision=shed"] + sum["decision=left"]; all != requests || sum["released"] != sum["decision=admitted"] {
		t.Errorf("of %d requests: %v", requests, sum)
	}
}

// request goes one of five ways: well, badly, by a panic, refused without a wait,
// or left while it waits.
func request(ctx context.Context, c *admission.Controller, way int) {
	defer func() { _ = recover() }()
	switch way {
	case 3:
		if ticket, err := c.TryAdmit(ctx, admission.Request{}); err == nil {
			ticket.Release(admission.Success)
		}
	case 4:
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(50*time.Microsecond, cancel)
		if ticket, err := c.Admit(ctx, admission.Request{}); err == nil {
			ticket.Release(admission.Ignore)
		}
	default:
		_ = c.Do(ctx, admission.Request{}, func(context.Context) error {
			time.Sleep(20 * time.Microsecond)
			switch way {
			case 1:
				return errors.New("failed")
			case 2:
				panic("way")
			}
			return nil
		})
	}
}
