package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/regulators"
	"github.com/spillway-go/spillway/scorecard"
)

// spillway is the library with everything on: rules, two signals, gate, queue, histograms.
type spillway struct {
	c        *admission.Controller
	pressure *regulators.Value // of the signal "b"
}

// rules are ten, of which two hold for the requests whose cost is measured.
var rules = []scorecard.Rule{
	{Name: "noisy", Match: "tenant:noisy", Cap: scorecard.Cap{N: 10}},
	{Name: "batch", Match: "tenant:batch-*", Cap: scorecard.Cap{N: 10}},
	{Name: "gold", Match: "tenant:gold-*", Cap: scorecard.Cap{Share: 0.5}},
	{Name: "acme", Match: "tenant:acme", Cap: scorecard.Cap{N: 2000}},
	{Name: "tenant", Match: "tenant:*", Cap: scorecard.Cap{Share: 0.25}},
	{Name: "report", Match: "op:report", Cap: scorecard.Cap{N: 2}},
	{Name: "export", Match: "op:export", Cap: scorecard.Cap{N: 2}},
	{Name: "op", Match: "op:*", Cap: scorecard.Cap{N: 2000}},
	{Name: "crawl", Match: "caller:crawler", Cap: scorecard.Cap{N: 3}},
	{Name: "writes", Match: "caller:sync;op:write", Cap: scorecard.Cap{N: 5}},
}

func newSpillway(e env) (limiter, error) {
	s := &spillway{pressure: new(regulators.Value)}
	s.pressure.Set(0.1)
	cfg := admission.Config{
		Scorecard:  admission.ScorecardConfig{Rules: rules},
		Regulators: map[string]admission.RegulatorConfig{"a": {}, "b": {}},
	}
	if e.initial > 0 {
		n := max(e.initial, 16) // more than the noisy tenant's cap
		cfg.Lanes = map[string]admission.LaneConfig{"default": {Limit: admission.LimitConfig{Fixed: n}}}
	}
	var err error
	s.c, err = admission.New(cfg,
		admission.WithSignal("a", regulators.Func(func(context.Context) (float64, error) { return 0.1, nil })),
		admission.WithSignal("b", s.pressure))
	return s, err
}

func (s *spillway) request(r *request) admission.Request {
	return admission.Request{
		Priority: admission.NewPriority(admission.Tier(r.tier), r.cohort),
		Tenant:   r.tenant, Caller: "checkout", Op: "read", Key: "order-17",
	}
}

func (s *spillway) do(ctx context.Context, r *request, work func(context.Context) error) bool {
	t, err := s.c.Admit(ctx, s.request(r))
	if err != nil {
		return false
	}
	if work(ctx) != nil {
		t.Release(admission.Overload)
	} else {
		t.Release(admission.Success)
	}
	return true
}

func (s *spillway) close() { _ = s.c.Close() }

// shedRatio is that of its one lane.
func (s *spillway) shedRatio() float64 { return s.c.Stats().Lanes[0].ShedRatio }

// refusals are by the gate, by a tenant's cap and by the limit. The first two would have come before the
// limit, so each has to be brought about.
func (s *spillway) refusals() (map[string]func() bool, error) {
	ctx := context.Background()
	refused := func(r admission.Request) func() bool {
		return func() bool { _, err := s.c.TryAdmit(ctx, r); return err != nil }
	}
	best := s.request(&request{tier: 0, tenant: "acme"})
	worst := s.request(&request{tier: 5, cohort: 100, tenant: "acme"})
	noisy := s.request(&request{tier: 0, tenant: "noisy"})

	for range 10 {
		if _, err := s.c.TryAdmit(ctx, noisy); err != nil {
			return nil, fmt.Errorf("a noisy tenant below its cap: %w", err)
		}
	}
	capped := refused(noisy)
	for !refused(best)() {
	}

	s.pressure.Set(5)
	gated := refused(worst)
	for end := time.Now().Add(10 * time.Second); s.shedRatio() < 0.9; gated() {
		if time.Now().After(end) {
			return nil, fmt.Errorf("the gate does not close: shed ratio %v", s.shedRatio())
		}
		time.Sleep(time.Millisecond)
	}
	return map[string]func() bool{"limit": refused(best), "tenant-cap": capped, "priority": gated}, nil
}
