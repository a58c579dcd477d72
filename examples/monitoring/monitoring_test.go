package monitoring

import (
	"fmt"
	"math"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// until waits for something to come true.
func until(t *testing.T, holds func() bool) {
	t.Helper()
	for began := time.Now(); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatal("it does not come true within a minute")
		}
	}
}

// promtool runs Prometheus' own checks, and says what it said of a failure.
func promtool(t *testing.T, args ...string) error {
	t.Helper()
	program, err := exec.LookPath("promtool")
	need(t, err)
	if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("promtool %s: %w:\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// Prometheus' own parser takes every expression and the config, and each rule does in the unit tests what it should.
func TestPromtool(t *testing.T) {
	var asRules strings.Builder // the dashboard's expressions
	fmt.Fprintln(&asRules, "groups:\n- name: dashboard\n  rules:")
	for i, e := range readDashboard(t).expressions() {
		fmt.Fprintf(&asRules, "  - {record: expression_%d, expr: '%s'} # %s\n", i, e.text, e.where)
	}
	file := filepath.Join(t.TempDir(), "dashboard.yaml")
	if err := os.WriteFile(file, []byte(asRules.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"check", "config", "prometheus.yml"}, // and the rules, which it names
		{"test", "rules", "alerts_test.yaml"},
		{"check", "rules", "--lint-fatal", file},
	} {
		if err := promtool(t, args...); err != nil {
			t.Error(err)
		}
	}
}

// Promtool's unit tests can fail: with any rule's bound out of reach they do.
func TestUnitTestsKnowEachRule(t *testing.T) {
	tests, err := os.ReadFile("alerts_test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range readRules(t) {
		if !strings.Contains(string(tests), `alertname="`+r.Alert+`", alertstate="firing"`) {
			t.Errorf("%s: fires in no unit test", r.Alert)
		}
		broken := regexp.MustCompile(`(?s)alert: `+r.Alert+`\n.*?(?:> [\d.]+|== 1)`).ReplaceAllStringFunc(alertsFile, func(s string) string {
			return s[:strings.LastIndexAny(s, ">=")+1] + " 1e9"
		})
		if broken == alertsFile {
			t.Errorf("%s: its bound was not found", r.Alert)
		}
		dir := t.TempDir()
		for name, text := range map[string]string{"alerts.yaml": broken, "alerts_test.yaml": string(tests)} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := promtool(t, "check", "rules", filepath.Join(dir, "alerts.yaml")); err != nil {
			t.Fatal(err)
		}
		if err := promtool(t, "test", "rules", filepath.Join(dir, "alerts_test.yaml")); err == nil || !strings.Contains(err.Error(), r.Alert) {
			t.Errorf("%s: with its bound out of reach promtool says %v", r.Alert, err)
		}
	}
}

// Who is woken by an alert is told what it means and what to do.
func TestRunbooks(t *testing.T) {
	for _, r := range readRules(t) {
		if r.Annotations["summary"] == "" || !strings.Contains(r.Annotations["runbook"], "Look at") {
			t.Errorf("%s: annotations are %q", r.Alert, r.Annotations)
		}
		if !slices.Contains([]string{"page", "ticket", "info"}, r.Labels["severity"]) {
			t.Errorf("%s: severity is %q", r.Alert, r.Labels["severity"])
		}
	}
}

// A Prometheus that scrapes a controller has a number for every expression of the dashboard, and none of it is NaN
// alone.
func TestDashboardHasSomethingToShow(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	target := httptest.NewServer(promhttp.HandlerFor(everything(t), promhttp.HandlerOpts{}))
	defer target.Close()
	p := start(t, Config{Target: target.Listener.Addr().String(), Interval: time.Second})
	for _, e := range readDashboard(t).expressions() {
		until(t, func() bool {
			samples, err := p.Query(t.Context(), e.text)
			if err != nil {
				t.Fatalf("%s: %v", e.where, err)
			}
			finite := func(s Sample) bool { return !math.IsNaN(s.Value) && !math.IsInf(s.Value, 0) }
			return slices.ContainsFunc(samples, finite)
		})
	}
}

// Panels have ids of their own and do not overlap.
func TestPanels(t *testing.T) {
	at := map[[2]int]string{}
	ids := map[int]bool{}
	for _, p := range readDashboard(t).Panels {
		if ids[p.ID] || p.Title == "" || (p.Type == "row") != (len(p.Targets) == 0) {
			t.Errorf("panel %d, %q: id again, no title, or no expression", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := at[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("panel %q covers %q or leaves the grid", p.Title, other)
				}
				at[[2]int{x, y}] = p.Title
			}
		}
	}
}

func TestBadConfig(t *testing.T) {
	for _, c := range []Config{{}, {Interval: time.Second, For: -1}} {
		if err := c.write(t.TempDir()); err == nil || !strings.Contains(err.Error(), "must be at least") {
			t.Errorf("%+v: error is %v", c, err)
		}
	}
}
