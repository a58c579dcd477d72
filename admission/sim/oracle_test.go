package sim

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/spillway-go/spillway/admission"
)

var update = flag.Bool("update", false, "sweep the scenarios in testdata anew and rewrite oracles.json")

// committedRuns is how many runs the committed oracles have.
const committedRuns = 4

// sets are the folders of scenarios; oracles of the whole lane are only kept for
// the first.
var sets = []string{"train", "valid"}

func paths(t testing.TB, set string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", set, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios in %s: %v", set, err)
	}
	return files
}

func load(t testing.TB, path string) Scenario {
	t.Helper()
	s, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sweepAll(t *testing.T) {
	m := map[string]Oracle{}
	for _, set := range sets {
		for _, path := range paths(t, set) {
			s := load(t, path)
			for _, f := range []Front{Lab, Full} {
				if f == Full && set != "train" {
					continue
				}
				key, err := f.key(admission.Config{}, s, committedRuns)
				if err != nil {
					t.Fatal(err)
				}
				if m[key], err = f.Oracle(admission.Config{}, s, committedRuns); err != nil {
					t.Fatal(err)
				}
				t.Logf("%s %v: %+v", s.Name, f, m[key])
			}
		}
	}
	data, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("testdata/oracles.json", append(data, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestCommittedOracles(t *testing.T) {
	if *update {
		sweepAll(t)
	}
}
