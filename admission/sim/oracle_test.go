package sim

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"reflect"
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
				if m[key], err = f.Sweep(admission.Config{}, s, committedRuns); err != nil {
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

// The committed oracles are those of this code: the best limit of some cheap
// scenarios still serves as much.
func TestCommittedOracles(t *testing.T) {
	if *update {
		sweepAll(t)
	}
	known, err := committed()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"train/01-mgk50-exp-step2", "train/11-leak-0.8", "train/15-low10rps-step2", "valid/10", "valid/60"} {
		s := load(t, "testdata/"+name+".json")
		key, err := Lab.key(admission.Config{}, s, committedRuns)
		if err != nil {
			t.Fatal(err)
		}
		want, ok := known[key]
		if !ok {
			t.Errorf("%s has no committed oracle: run with -update", name)
			continue
		}
		l := &fixedLimit{limit: want.Limit}
		if err := l.run(Lab, admission.Config{}, s, 1); err != nil {
			t.Fatal(err)
		}
		if math.Abs(l.goodput[0]/want.Goodput[0]-1) > 0.005 {
			t.Errorf("%s at limit %d: %.2f/s, committed is %.2f/s: run with -update", name, want.Limit, l.goodput[0], want.Goodput[0])
		}
	}
}

// A sweep of a small FIFO station finds its servers; afterwards the answer
// comes from the cache, and another config has its own.
func TestOracleIsKept(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir)
	s := Scenario{
		DurationS: 10, CapacityRPS: 200, Seed: 1, Backend: []Station{{Servers: 4, Dist: Dist{Kind: "exp", MeanMS: 20}}},
		Load: Arrivals{Points: []Point{{0, 2}}}, Client: Client{DeadlineMS: 100, TightDeadlineMS: 40},
	}
	cfg := admission.Config{}
	swept, err := Lab.Oracle(cfg, s, 2)
	if err != nil {
		t.Fatal(err)
	}
	if swept.Low > swept.Limit || swept.Low < 3 || swept.Limit > 16 || len(swept.Goodput) != 2 || mean(swept.Goodput) < 180 {
		t.Errorf("oracle is %+v", swept)
	}
	files, err := filepath.Glob(filepath.Join(dir, "spillway", "oracles", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("cache has %v (%v)", files, err)
	}
	marked := Oracle{Limit: 99, Goodput: []float64{1, 2}}
	write(files[0], marked)
	s.Name = "by another name"
	if again, err := Lab.Oracle(cfg, s, 2); err != nil || again.Limit != 99 {
		t.Errorf("not from the cache: %+v (%v)", again, err)
	}
	if err := os.WriteFile(files[0], []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := Lab.Oracle(cfg, s, 2); err != nil || !reflect.DeepEqual(again, swept) {
		t.Errorf("from a broken cache: %+v (%v), want %+v", again, err, swept)
	}
	codel := admission.Config{Lanes: map[string]admission.LaneConfig{"default": {Gate: admission.GateConfig{Law: "off"}}}}
	a, errA := Full.key(cfg, s, 2)
	b, errB := Full.key(codel, s, 2)
	if a == b || errA != nil || errB != nil {
		t.Errorf("keys %q and %q (%v, %v)", a, b, errA, errB)
	}
}

func TestChoose(t *testing.T) {
	o := choose([]*fixedLimit{
		{limit: 1, goodput: []float64{90, 90}, tight: []float64{60, 60}, p99: []float64{1, 1}},
		{limit: 2, goodput: []float64{99, 98}, tight: []float64{50, 50}, p99: []float64{2, 2}},
		{limit: 3, goodput: []float64{98, 102}, tight: []float64{40, 40}, p99: []float64{3, 3}},
		{limit: 4, goodput: []float64{99, 99}, tight: []float64{30, 30}, p99: []float64{4, 4}},
	})
	want := Oracle{Limit: 3, Low: 2, Goodput: []float64{98, 102}, P99MS: []float64{2, 2}, Tight: []float64{60, 60}}
	if !reflect.DeepEqual(o, want) {
		t.Errorf("got %+v, want %+v", o, want)
	}
	if _, err := Lab.Sweep(admission.Config{}, Scenario{}, 0); err == nil || err.Error() != "sim: runs is 0: must be at least 1" {
		t.Errorf("no runs: %v", err)
	}
}
