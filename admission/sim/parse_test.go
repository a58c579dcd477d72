package sim

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// least is the least that a scenario must say.
const least = `{"duration_s": 1, "capacity_rps": 10, "load": {"points": [[0, 1]]},
	"backend": [{"dist": {"kind": "det", "mean_ms": 1}}], "client": {"deadline_ms": 10}}`

func TestParseLeast(t *testing.T) {
	s, err := Parse([]byte(least))
	if err != nil {
		t.Fatal(err)
	}
	if s.Backend[0].Dist.Kind != "det" || s.Load.Points[0] != (Point{0, 1}) || s.Client.DeadlineMS != 10 {
		t.Errorf("parsed as %+v", s)
	}
}

func TestParseErrors(t *testing.T) {
	with := func(old, new string) string { return strings.Replace(least, old, new, 1) }
	for _, c := range []struct {
		name, json string
		want       []string // parts of the message, all of them
	}{
		{"empty", ``, []string{"sim: EOF"}},
		{"unknown field", with(`"duration_s"`, `"speed": 3, "duration_s"`), []string{`sim: json: unknown field "speed"`}},
		{"wrong type", with(`"duration_s": 1`, `"duration_s": "1m"`), []string{"duration_s", "string"}},
		{"two objects", least + least, []string{"sim: more than one JSON object"}},
		{"nothing said", `{}`, []string{
			"sim: duration_s is 0: must be between 0.1 and 86400",
			"sim: measure_from_s is 0: must be before duration_s",
			"sim: capacity_rps is 0: must be between 0.001 and 1e+07",
			"sim: backend is 0 stations: must be 1 to 64",
			"sim: load is empty: must have points or closed_clients",
			"sim: client.deadline_ms is 0: must be between 0.001 and 3.6e+06",
		}},
		{"kinds", with(`"det"`, `"gamma"`), []string{
			`sim: backend[0].dist.kind is "gamma": must be one of ["det" "exp" "lognormal" "bimodal" "pareto" "mix" "log"]`,
		}},
		{"mix", with(`"det"`, `"mix", "p": 2`), []string{
			"sim: backend[0].dist.p is 2: must be between 0 and 1",
			"sim: backend[0].dist.ratio is 0: must be above 0 for kind mix",
		}},
		{"points out of order", with(`[[0, 1]]`, `[[5, 1], [4, -1]]`), []string{
			"sim: load.points[1] second is 4: must be between 5 and 86400",
			"sim: load.points[1] value is -1: must be between 0 and 1e+06",
		}},
		{"pause", with(`{"dist"`, `{"pause_every_s": 1, "pause_ms": 2000, "dist"`), []string{
			"sim: backend[0].pause_ms is 2000: must be between 0 and 1000",
		}},
		{"retry", with(`"deadline_ms"`, `"retry": "backoff", "max_retry": -1, "deadline_ms"`), []string{
			"sim: client.max_retry is -1: must be between 0 and 1000",
			"sim: client.base_ms is 0: must be above 0 for retry backoff",
		}},
		{"tiers", with(`"duration_s"`, `"tier_mix": [0, 0, 0, 0, 0, 0, 0], "duration_s"`), []string{
			"sim: tier_mix is 7 tiers: must be at most 6",
			"sim: tier_mix is 0 0 0 0 0 0 0: must have a share above 0",
		}},
	} {
		_, err := Parse([]byte(c.json))
		if err == nil {
			t.Errorf("%s: no error", c.name)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got\n%v\nwant in it\n%s", c.name, err, want)
			}
		}
	}
}

func TestLoadNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(path, []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, filepath.Join(t.TempDir(), "missing.json")} {
		if _, err := Load(p); err == nil || !strings.HasPrefix(err.Error(), "sim: ") || !strings.Contains(err.Error(), p) {
			t.Errorf("%s: got %v", p, err)
		}
	}
}

func TestLoadTestdata(t *testing.T) {
	for set, want := range map[string]int{"train": 20, "valid": 60} {
		files := paths(t, set)
		if len(files) != want {
			t.Errorf("%s: %d scenarios, want %d", set, len(files), want)
		}
		for _, path := range files {
			load(t, path)
		}
	}
}

// Whatever parses is valid, and comes back the same from its own JSON.
func FuzzParse(f *testing.F) {
	f.Add([]byte(least))
	for _, set := range sets {
		for _, path := range paths(f, set)[:3] {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data)
		if err != nil {
			return
		}
		again, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		s2, err := Parse(again)
		if err != nil {
			t.Fatalf("its own JSON does not parse: %v\n%s", err, again)
		}
		if third, err := json.Marshal(s2); err != nil || !reflect.DeepEqual(again, third) {
			t.Fatalf("changed to %s (%v) from %s", third, err, again)
		}
	})
}
