package simulate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/internal/race"
)

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

func TestFileName(t *testing.T) {
	for name, want := range map[string]string{"a b": "a b", "../x": "_x", "": "unnamed", "..": "unnamed", "a/b\\c": "a_b_c"} {
		if got := fileName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
