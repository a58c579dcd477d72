package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

// The schema takes every example, and refuses what the parser refuses for its form.
func TestSchemaTakesTheExamples(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../admission/configfile/config.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	validate := func(path string) error {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := yaml.Load(text, &v); err != nil {
			return err
		}
		return schema.Validate(v)
	}
	good, broken := files(t, "*.yaml"), files(t, "../../admission/configfile/testdata/broken/*.yaml")
	good = append(good, files(t, "../../admission/configfile/testdata/*.[yj]*")...)
	if len(good) < 6 || len(broken) < 20 {
		t.Fatalf("%d good files and %d broken ones", len(good), len(broken))
	}
	for _, path := range good {
		if err := validate(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	// What relations between fields forbid, a schema does not see; nor aliases, merge keys
	// and tags, which are resolved before it.
	blind := map[string]bool{"23-shares.yaml": true, "24-idle.yaml": true}
	for _, path := range broken {
		if err := validate(path); err == nil && !blind[filepath.Base(path)] {
			t.Errorf("%s: the schema takes it", path)
		}
	}
}

func files(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return paths
}
