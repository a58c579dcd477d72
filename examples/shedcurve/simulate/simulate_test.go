package simulate

import (
	"bytes"
	"encoding/json"
	"io"
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

// The gate's law can be chosen by the flag and by a config, alike.
func TestLawOfTheGate(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "one.json", scenario)
	config := write(t, dir, "config", `{"lanes": {"default": {"gate": {"law": "pid"}}}}`)
	args := []string{"-scenario", path, "-json", "-seeds", "1"}
	_, plain, _ := run(t, args...)
	_, flagged, errs := run(t, append(args, "-gate", "pid")...)
	_, configured, more := run(t, append(args, "-config", config)...)
	if !strings.Contains(flagged, `"config": "defaults"`) || !strings.Contains(configured, `"config": "config"`) {
		t.Error("a config is not named")
	}
	if flagged == plain || strings.Replace(configured, `"config": "config"`, `"config": "defaults"`, 1) != flagged {
		t.Errorf("by default:\n%s\nwith the flag:\n%s%s\nwith the config:\n%s%s", plain, flagged, errs, configured, more)
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

// The flags that change a config change the lane that is simulated, whoever names it.
func TestPinnedLimitOfAnotherLane(t *testing.T) {
	dir := t.TempDir()
	named := write(t, dir, "named.json", strings.Replace(scenario, `"seed"`, `"lane": "write", "seed"`, 1))
	plain := write(t, dir, "plain.json", scenario)
	config := write(t, dir, "config.yaml", `{lanes: {write: {}, read: {}}}`)
	for _, args := range [][]string{{"-scenario", named}, {"-scenario", plain, "-lane", "write"}} {
		_, out, errs := run(t, append(args, "-config", config, "-limit", "3", "-seeds", "1", "-json")...)
		if !strings.Contains(out, `"mean_limit": 3,`) {
			t.Errorf("%v: %s%s", args, out, errs)
		}
	}
	// A lane that the config has not is not made by pinning its limit.
	status, _, errs := run(t, "-scenario", plain, "-lane", "wirte", "-config", config, "-limit", "3", "-seeds", "1")
	if status != exitFailed || !strings.Contains(errs, `lane is "wirte": must be one of the config's, ["read" "write"]`) {
		t.Errorf("status %d: %s", status, errs)
	}
}

func TestPinnedLimit(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "one.json", scenario)
	config := write(t, dir, "config.json.txt", `{"lanes": {"default": {"limit": {"fixed": 3}}}}`)
	for _, args := range [][]string{{"-limit", "3"}, {"-config", config}} {
		_, out, errs := run(t, append(args, "-scenario", path, "-seeds", "1", "-json")...)
		if !strings.Contains(out, `"mean_limit": 3,`) {
			t.Errorf("%v: %s%s", args, out, errs)
		}
	}
}

// A law is one of the library's, which the config's bounds hold for, or a peer.
func TestLaw(t *testing.T) {
	path := write(t, t.TempDir(), "one.json", scenario)
	seen := map[string]string{}
	for _, law := range []string{"octave", "aimd", "gradient2", "vegas", "cinnamon", "envoy", "failsafe", "static20"} {
		status, out, errs := run(t, "-scenario", path, "-seeds", "1", "-json", "-front", "lab", "-law", law)
		if status != exitOK {
			t.Fatalf("%s: status %d, %s", law, status, errs)
		}
		if other, ok := seen[out]; ok {
			t.Errorf("%s runs as %s does", law, other)
		}
		seen[out] = law
		if law == "static20" && !strings.Contains(out, `"mean_limit": 20,`) {
			t.Errorf("static20: %s", out)
		}
	}
}

func TestLawAll(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "1.json", scenario)
	write(t, dir, "2.json", strings.Replace(scenario, `"seed": 3`, `"seed": 4`, 1))
	status, out, errs := run(t, "-scenario", dir, "-seeds", "1", "-json", "-front", "lab", "-law", "all")
	var rows []standing
	if err := json.Unmarshal([]byte(out), &rows); err != nil || status != exitOK {
		t.Fatalf("%v, status %d, %s", err, status, errs)
	}
	if len(rows) != 8 || rows[0].Law != "octave" || rows[7].Law != "static20" {
		t.Errorf("rows: %+v", rows)
	}
	for _, r := range rows {
		_, one, _ := run(t, "-scenario", dir, "-seeds", "1", "-json", "-front", "lab", "-law", r.Law, "-oracle")
		var single []row
		if err := json.Unmarshal([]byte(one), &single); err != nil || len(single) != 2 {
			t.Fatalf("%s: %v in %s", r.Law, err, one)
		}
		a, b := *single[0].Regret, *single[1].Regret
		want := spread{(a + b) / 2, (a + b) / 2, max(a, b)}
		if r.Scenarios != 2 || r.Seeds != 1 || !near(r.Regret.Median, want.Median) || !near(r.Regret.Mean, want.Mean) || r.Regret.Worst != want.Worst {
			t.Errorf("%s: %+v, want %+v", r.Law, r, want)
		}
	}
	_, out, _ = run(t, "-scenario", dir, "-seeds", "1", "-front", "lab", "-law", "all")
	for _, want := range []string{"regret %: median", "gradient2", "static20"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestDraw(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "one.json", scenario)
	out := filepath.Join(dir, "out")
	if status, _, errs := run(t, "-scenario", path, "-seeds", "1", "-out", out); status != exitOK {
		t.Fatalf("status %d: %s", status, errs)
	}
	for _, name := range []string{"shedcurve.html", "shedcurve.svg", "shedcurve.csv", "shedcurve.json", "trace.svg"} {
		if info, err := os.Stat(filepath.Join(out, "small_one", name)); err != nil || info.Size() < 500 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Two configs meet the same requests; each is named in table, JSON and picture, and each is
// held to what is required.
func TestTwoConfigs(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "one.json", scenario)
	now := write(t, dir, "now.yaml", "{}\n")
	narrow := write(t, dir, "narrow.yaml", "lanes: {default: {limit: {fixed: 1}}}\n")
	args := []string{"-scenario", path, "-seeds", "2", "-config", now, "-config", narrow}

	var rows []row
	_, out, _ := run(t, append(args, "-json")...)
	if err := json.Unmarshal([]byte(out), &rows); err != nil || len(rows) != 2 {
		t.Fatalf("%v in %s", err, out)
	}
	a, b := rows[0], rows[1]
	if a.Config != "now.yaml" || b.Config != "narrow.yaml" || b.MeanLimit != 1 || *b.GoodputShare > 0.5 || *a.GoodputShare < 0.6 {
		t.Errorf("%s: %v, %s: %v", a.Config, *a.GoodputShare, b.Config, *b.GoodputShare)
	}
	if a.Tiers["t2"].Offered != b.Tiers["t2"].Offered {
		t.Errorf("they met %d and %d requests of t2", a.Tiers["t2"].Offered, b.Tiers["t2"].Offered)
	}

	status, out, errs := run(t, append(args, "-require", "goodput>=0.6 p99<=1s t1>=1%")...)
	want := "small/one with narrow.yaml: goodput>=0.6 is not met: goodput is 0."
	if status != exitFailed || !strings.Contains(errs, want) || strings.Count(errs, " is not met") != 1 {
		t.Errorf("status %d, %s, want in it %s", status, errs, want)
	}
	if !strings.Contains(out, "now.yaml") || !strings.Contains(out, "narrow.yaml") {
		t.Errorf("a config is not in the table\n%s", out)
	}
	if status, _, errs = run(t, append(args[:6], "-require", "goodput>=0.6")...); status != exitOK {
		t.Errorf("what is met alone: status %d, %s", status, errs)
	}
}

// A config with other lanes is not taken for the defaults.
func TestLane(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "one.json", scenario)
	config := write(t, dir, "lanes.yaml", "lanes: {read: {limit: {fixed: 3}}, write: {}}\n")
	args := []string{"-scenario", path, "-seeds", "1", "-json", "-config", config}
	if status, _, errs := run(t, args...); status != exitFailed || !strings.Contains(errs, `lane is "default": must be one of the config's, ["read" "write"]; choose it with -lane`) {
		t.Errorf("status %d, %s", status, errs)
	}
	if _, out, errs := run(t, append(args, "-lane", "read")...); !strings.Contains(out, `"mean_limit": 3,`) {
		t.Errorf("%s%s", out, errs)
	}
	if _, out, errs := run(t, append(args, "-lane", "write", "-limit", "5")...); !strings.Contains(out, `"mean_limit": 5,`) {
		t.Errorf("%s%s", out, errs)
	}
}

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

func TestDrawSideBySide(t *testing.T) {
	if race.Enabled {
		t.Skip("TestDraw has as much to race")
	}
	dir := t.TempDir()
	path := write(t, dir, "one.json", scenario)
	now, narrow := write(t, dir, "now.yaml", "{}\n"), write(t, dir, "narrow.yaml", "lanes: {default: {limit: {fixed: 1}}}\n")
	out := filepath.Join(dir, "out")
	if status, _, errs := run(t, "-scenario", path, "-seeds", "1", "-config", now, "-config", narrow, "-out", out); status != exitOK {
		t.Fatalf("status %d: %s", status, errs)
	}
	for _, file := range []string{"shedcurve.svg", "trace.svg", "shedcurve.json"} {
		data, err := os.ReadFile(filepath.Join(out, "small_one", file))
		for _, name := range []string{"now.yaml", "narrow.yaml"} {
			if err != nil || !strings.Contains(string(data), name) {
				t.Errorf("%s is not in %s: %v", name, file, err)
			}
		}
	}
}

// A measured curve is compared at its own loads, each arm with what it is.
func TestAgainst(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "one.json", strings.Replace(scenario, `"deadline_ms": 200`, `"deadline_ms": 1000`, 1))
	out := filepath.Join(dir, "out")
	measured := write(t, dir, "shedcurve.json", `{"capacity_rps": 100, "deadline_ms": 1000, "arms": [
		{"name": "off", "points": [{"x": 0.5, "goodput_rps": 50, "valid": true}, {"x": 3, "goodput_rps": 30}]},
		{"name": "on", "points": [{"x": 0.5, "goodput_rps": 40, "valid": true}, {"x": 3, "goodput_rps": 100, "valid": true}]}]}`)
	args := []string{"-scenario", path, "-seeds", "2", "-against", measured}
	status, table, errs := run(t, append(args, "-json")...)
	var all []difference
	if err := json.Unmarshal([]byte(table), &all); err != nil || status != exitOK || len(all) != 4 {
		t.Fatalf("status %d, %v: %s%s", status, err, table, errs)
	}
	for i, want := range []struct{ measured, least, most float64 }{{0.5, 0.4, 0.6}, {0.3, 0, 0.6}, {0.4, 0.4, 0.6}, {1, 0.6, 1.1}} {
		d := all[i]
		if d.Measured != want.measured || d.Simulated < want.least || d.Simulated > want.most || !near(d.Points, 100*(d.Simulated-d.Measured)) || d.Valid != (i != 1) {
			t.Errorf("%+v, want %+v", d, want)
		}
	}
	if _, table, _ = run(t, append(args, "-out", out)...); !strings.Contains(table, "!3x") || !strings.Contains(table, "not to be trusted") {
		t.Errorf("table:\n%s", table)
	}
	if svg, err := os.ReadFile(filepath.Join(out, "small_one", "shedcurve.svg")); err != nil || !strings.Contains(string(svg), "on, simulated") {
		t.Errorf("the picture: %v", err)
	}
	for _, c := range []struct{ more, want string }{
		{"-require=p99<1s", "-against cannot be together with -require"},
		{"-law=all", "-against cannot be together with several configs"},
		{"-against=" + path, "it has no arms"},
	} {
		if status, _, errs := run(t, append(args, c.more)...); status != exitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%s: status %d, %s", c.more, status, errs)
		}
	}
}

// What the load test measured on the SQLite service, and what the scenario that it wrote beside it gives in
// virtual time, are within ten per cent of the capacity at each load.
func TestMeasuredAndSimulatedAgree(t *testing.T) {
	o, err := parse([]string{
		"-seeds", "2", "-scenario", filepath.Join("testdata", "sqlite.scenario.json"),
		"-against", filepath.Join("testdata", "sqlite.json"),
	}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := o.compareWith(*o.against)
	if err != nil || len(all) < 12 {
		t.Fatal(len(all), err)
	}
	for _, d := range all {
		t.Logf("%s at %gx: measured %.3f, simulated %.3f, %+.1f points, valid %t", d.Arm, d.X, d.Measured, d.Simulated, d.Points, d.Valid)
		if math.Abs(d.Points) > 10 {
			t.Errorf("%s at %gx: %+.1f points", d.Arm, d.X, d.Points)
		}
	}
}

func TestUsage(t *testing.T) {
	dir := t.TempDir()
	good, bad := write(t, dir, "good.json", scenario), write(t, dir, "bad.json", `{"nmae": 1}`)
	config := write(t, dir, "config.txt", `{"lanse": {}}`)
	pinned := write(t, dir, "pinned.txt", `{"lanes": {"default": {"limit": {"fixed": 3}}}}`)
	for _, c := range []struct {
		args []string
		want []string
	}{
		{nil, []string{"-scenario is missing"}},
		{[]string{"-nonsense"}, []string{"flag provided but not defined"}},
		{[]string{"-scenario", filepath.Join(dir, "none")}, []string{"none: no such file"}},
		{[]string{"-scenario", t.TempDir()}, []string{"has no .json files"}},
		{[]string{"-scenario", bad}, []string{`unknown field "nmae"`, "bad.json"}},
		{[]string{"-scenario", good, "-config", config}, []string{`lanse: unknown field`, `did you mean "lanes"?`, "config.txt:1:"}},
		{[]string{"-scenario", good, "more"}, []string{`unexpected argument "more"`}},
		{
			[]string{"-scenario", good, "-seeds", "0", "-front", "back", "-gate", "wooden", "-limit", "-2"},
			[]string{"-seeds is 0: must be between 1 and 1000", `-front is "back"`, `gate.law is "wooden"`, "limit.fixed is -2"},
		},
		{[]string{"-scenario", good, "-law", "magic"}, []string{`limit.law is "magic": must be one of octave`}},
		{[]string{"-scenario", good, "-law", "vegas", "-limit", "9"}, []string{"-limit is 9: cannot be together with -law"}},
		{[]string{"-scenario", good, "-config", pinned, "-config", pinned}, []string{"must be given once"}},
		{[]string{"-scenario", good, "-law", "all", "-config", pinned, "-config", config, "-require", "p99<1s"}, []string{"must be one with -law all", "-require is \"p99<1s\": cannot be together"}},
		{[]string{"-scenario", good, "-require", "p99<=50 t1>99%"}, []string{`-require: term 1, "p99<=50": value "50" must be a duration`}},
		{[]string{"-scenario", good, "-require", ""}, []string{`-require is "": must have a term, such as goodput>=0.95`}},
		{[]string{"-scenario", good, "-require", "regret<5%"}, []string{`-require is "regret<5%": regret needs -oracle`}},
		{[]string{"-scenario", good, "-law", "all", "-out", "x"}, []string{"-out is x: cannot be together with -law all"}},
		{[]string{"-scenario", good, "-law", "all", "-config", pinned}, []string{"a pinned limit takes no initial, min, max or law"}},
	} {
		status, out, errs := run(t, c.args...)
		if status != exitUsage || out != "" {
			t.Errorf("%v: status %d, stdout %q", c.args, status, out)
		}
		for _, want := range c.want {
			if !strings.Contains(errs, want) {
				t.Errorf("%v: got\n%swant in it %q", c.args, errs, want)
			}
		}
	}
	if status, _, _ := run(t, "-help"); status != exitOK {
		t.Errorf("-help: status %d", status)
	}
}

func TestFileName(t *testing.T) {
	for name, want := range map[string]string{"a b": "a b", "../x": "_x", "": "unnamed", "..": "unnamed", "a/b\\c": "a_b_c"} {
		if got := fileName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
