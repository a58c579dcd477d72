package simulate

import (
	"encoding/json"
	"strings"
	"testing"
)

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
