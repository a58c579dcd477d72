package configfile

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/spillway-go/spillway/admission"
)

// sameConfig compares two configs for which nil and empty are the same.
func sameConfig(a, b admission.Config) bool {
	if len(b.Lanes) == 0 {
		b.Lanes = nil
	}
	if len(b.Priorities.Callers) == 0 {
		b.Priorities.Callers = nil
	}
	if len(b.Scorecard.Rules) == 0 {
		b.Scorecard.Rules = nil
	}
	if len(b.Regulators) == 0 {
		b.Regulators = nil
	}
	if len(b.Stages) == 0 {
		b.Stages = nil
	}
	for name, r := range b.Regulators {
		if len(r.Lanes) == 0 {
			r.Lanes = nil
			b.Regulators[name] = r
		}
	}
	return reflect.DeepEqual(a, b)
}

// FuzzParse: no text makes it panic, each error has a place, and what is read can be
// written and read again.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/*.yaml", "testdata/*.json", "testdata/broken/*.[yj]*", "../../examples/config/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, path := range files {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, err := Parse("x", data)
		if err != nil {
			if !reflect.ValueOf(cfg).IsZero() {
				t.Errorf("%v, but a config: %+v", err, cfg)
			}
			return
		}
		text, err := Format(cfg)
		if err != nil {
			t.Fatalf("%+v cannot be written: %v", cfg, err)
		}
		back, err := Parse("x", text)
		if err != nil || !sameConfig(back, cfg) {
			t.Errorf("%v\n%s\ngot  %+v\nwant %+v", err, text, back, cfg)
		}
	})
}
