package promadmission_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/promadmission"
)

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
