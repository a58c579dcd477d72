package simulate

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/internal/race"
)

const scenario = `{"name": "small/one", "family": "fifo", "duration_s": 6, "measure_from_s": 1, "step_at_s": 2,

	"capacity_rps": 200, "seed": 3, "backend": [{"servers": 4, "dist": {"kind": "exp", "mean_ms": 20}}],
	"load": {"points": [[0, 0.5], [2, 0.5], [2, 2]]}, "client": {"deadline_ms": 200, "tight_deadline_ms": 60},
	"tier_mix": [0.1, 0.4, 0.5]}`

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// run returns the exit status and both outputs. The cache of oracles is a
// folder of the test's own.
func run(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var out, errs bytes.Buffer
	status = Main(args, &out, &errs)
	return status, out.String(), errs.String()
}

func TestJSON(t *testing.T) {
	path := write(t, t.TempDir(), "one.json", scenario)
	status, out, errs := run(t, "-scenario", path, "-oracle", "-json", "-seeds", "2", "-front", "lab")
	if status != exitOK {
		t.Fatalf("status %d: %s", status, errs)
	}
	var rows []map[string]any
	if err := json.Unmarshal([]byte(out), &rows); err != nil || len(rows) != 1 {
		t.Fatalf("%v in %s", err, out)
	}
	r := rows[0]
	for _, name := range []string{"goodput", "oracle_goodput", "regret", "tight_regret", "p99_excess", "settle_s", "mean_limit", "sd_shed_ratio", "inversion", "died_in_queue"} {
		if _, ok := r[name].(float64); !ok {
			t.Errorf("%s is %v, want a number", name, r[name])
		}
	}
	if r["scenario"] != "small/one" || r["family"] != "fifo" || r["seeds"] != 2.0 {
		t.Errorf("labels: %v, %v, %v", r["scenario"], r["family"], r["seeds"])
	}
	good, best, regret := r["goodput"].(float64), r["oracle_goodput"].(float64), r["regret"].(float64)
	if good < 100 || good > 220 || best < good*0.9 || regret > 0.3 || regret != 1-good/best {
		t.Errorf("goodput %v, oracle's %v, regret %v", good, best, regret)
	}
	tiers := r["tiers"].(map[string]any)
	if len(tiers) != 3 || tiers["t0"].(map[string]any)["offered"].(float64) <= 0 {
		t.Errorf("tiers: %v", tiers)
	}
}

// What needs the oracle is null without it, and the name is still there.
func TestJSONWithoutOracle(t *testing.T) {
	path := write(t, t.TempDir(), "one.json", scenario)
	_, out, _ := run(t, "-scenario", path, "-json", "-seeds", "1", "-gate", "off")
	for _, want := range []string{`"regret": null`, `"oracle_goodput": null`, `"sd_shed_ratio": 0`} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is missing in %s", want, out)
		}
	}
}

func TestTableOfAFolder(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "1.json", scenario)
	write(t, dir, "2.json", strings.Replace(scenario, "small/one", "small/two", 1))
	status, out, errs := run(t, "-scenario", dir, "-seeds", "1")
	if status != exitOK || !strings.Contains(errs, "2/2 small/") {
		t.Fatalf("status %d: %s", status, errs)
	}
	first, second := strings.Index(out, "small/one"), strings.Index(out, "small/two")
	if first < 0 || second < first || !strings.Contains(out, "died in queue %: median") {
		t.Errorf("table:\n%s", out)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// A request log is a scenario too.
func TestRequestLog(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	logs := filepath.Join("..", "..", "..", "admission", "sim", "testdata", "log")
	status, table, errs := run(t, "-scenario", filepath.Join(logs, "burst.json"), "-seeds", "1", "-out", out, "-require", "goodput>=0.85,t1>=0.9")
	if status != exitOK || !strings.Contains(table, "log-burst") {
		t.Fatalf("status %d: %s%s", status, table, errs)
	}
	for _, name := range []string{"shedcurve.svg", "trace.svg"} {
		if _, err := os.Stat(filepath.Join(out, "log-burst", name)); err != nil {
			t.Error(err)
		}
	}
	if status, table, errs = run(t, "-scenario", filepath.Join(logs, "burst.csv"), "-seeds", "1", "-require", "goodput>=1", "-out", out); status != exitOK {
		t.Errorf("the log alone, behind which nothing is scarce: status %d, %s%s", status, table, errs)
	}
}

// A minute of 2,000 requests per second with two configs takes seconds, here and on slow
// machines: both have less time than a tenth of the minute together, where it takes some 0.4 s.
func TestAMinuteTakesSeconds(t *testing.T) {
	most := 5 * time.Second
	if race.Enabled {
		most *= 10 // so much slower is the detector
	}
	dir := t.TempDir()
	path := write(t, dir, "minute.json", `{"name": "minute", "duration_s": 60, "capacity_rps": 1000, "seed": 1,
		"backend": [{"cores": 8, "dist": {"kind": "exp", "mean_ms": 8}}], "load": {"points": [[0, 2]]}, "client": {"deadline_ms": 100},
		"tier_mix": [0.05, 0.25, 0.3, 0.4]}`)
	other := write(t, dir, "pid.yaml", "lanes: {default: {gate: {law: pid}}}\n")
	started := time.Now()
	status, out, errs := run(t, "-scenario", path, "-seeds", "1", "-config", write(t, dir, "now.yaml", "{}\n"), "-config", other, "-require", "goodput>=0.9 t1>=0.97")
	took := time.Since(started)
	t.Logf("%v\n%s", took, out)
	if status != exitOK {
		t.Errorf("status %d: %s", status, errs)
	}
	if took > most {
		t.Errorf("two runs of 60 s took %v", took)
	}
}
