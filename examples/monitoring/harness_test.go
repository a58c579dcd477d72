package monitoring

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v4"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/promadmission"
	"github.com/spillway-go/spillway/regulators"
	"github.com/spillway-go/spillway/scorecard"
)

// everything is the registry of a controller that has something of every metric to show until the test ends: a lane
// that a signal steers, one on trial, a tenant over its cap, a rule on trial, a guard.
func everything(t *testing.T) *prometheus.Registry {
	t.Helper()
	small := admission.LaneConfig{Limit: admission.LimitConfig{Fixed: 2}}
	trial := small
	trial.Mode = admission.Shadow
	ctrl, err := admission.New(admission.Config{
		Lanes: map[string]admission.LaneConfig{"write": small, "trial": trial},
		Scorecard: admission.ScorecardConfig{Rules: []scorecard.Rule{
			{Name: "barred", Match: "tenant:barred", Cap: scorecard.Cap{N: 0}},
			{Name: "each", Match: "tenant:*", Cap: scorecard.Cap{N: 1000}},
		}},
		Regulators: map[string]admission.RegulatorConfig{"lag": {Period: 20 * time.Millisecond, KP: 1, KI: 1}},
	},
		admission.WithSignal("lag", regulators.Func(func(context.Context) (float64, error) { return 1.2, nil })),
		admission.WithGuard("rate", guard{}))
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewPedanticRegistry()
	if err := promadmission.Register(registry, ctrl, promadmission.WithTopTenants(3)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for i := range 24 { // callers that ask again and again
		r := admission.Request{
			Lane: []string{"write", "trial"}[i%2], Priority: admission.Tier(i % 6).Priority(),
			Tenant: []string{"acme", "barred", "corp"}[i%3],
		}
		running.Go(func() {
			for ctx.Err() == nil {
				if err := ctrl.Do(ctx, r, func(context.Context) error { time.Sleep(2 * time.Millisecond); return nil }); err != nil {
					time.Sleep(5 * time.Millisecond)
				}
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		running.Wait()
		if err := ctrl.Close(); err != nil {
			t.Error(err)
		}
	})
	return registry
}

// guard lets everything through.
type guard struct{}

func (guard) Enter(time.Time, string, int64) error { return nil }
func (guard) Exit(string, int64)                   {}

// expression is one of the files'.
type expression struct{ where, text string }

// dashboard is what the tests read of the file.
type dashboard struct {
	Templating struct {
		List []struct{ Name, Type, Query string }
	}
	Panels []struct {
		ID          int
		Type, Title string
		GridPos     struct{ X, Y, W, H int }
		Targets     []struct{ RefID, Expr string }
	}
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	text, err := os.ReadFile("dashboard.json")
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// expressions are all of the dashboard's, as Grafana would ask them with every variable at "All".
func (d dashboard) expressions() (all []expression) {
	filled := strings.NewReplacer("$__rate_interval", "1m", "$job", ".*", "$limiter", ".*", "$lane", ".*")
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			all = append(all, expression{fmt.Sprintf("panel %q, %s", p.Title, target.RefID), filled.Replace(target.Expr)})
		}
	}
	return all
}

// rule is an alert of the file.
type rule struct {
	Alert, Expr string
	Labels      map[string]string
	Annotations map[string]string
}

func readRules(t *testing.T) (rules []rule) {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal([]byte(alertsFile), &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		rules = append(rules, g.Rules...)
	}
	return rules
}

// need skips the test where a program is missing, or fails it where CI is set.
func need(t *testing.T, err error) {
	t.Helper()
	switch {
	case err == nil:
	case os.Getenv("CI") != "":
		t.Fatalf("CI is set, so that this must run: %v", err)
	default:
		t.Skipf("%v (Debian's package prometheus has it)", err)
	}
}

func start(t *testing.T, c Config) *Prometheus {
	t.Helper()
	p, err := Start(t.Context(), c)
	if errors.Is(err, exec.ErrNotFound) {
		need(t, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}
