package simulate

import (
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
