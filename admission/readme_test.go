package admission_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeCode holds that the README's Go code stands, to the letter, in a
// program under examples, which the same run compiles.
func TestReadmeCode(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	programs := ""
	paths, err := filepath.Glob("../examples/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		programs += string(text)
	}
	blocks := 0
	for i, part := range strings.Split(string(readme), "```") {
		code, ok := strings.CutPrefix(part, "go\n")
		if i%2 == 0 || !ok {
			continue
		}
		blocks++
		if !strings.Contains(programs, code) {
			t.Errorf("no program under examples has this code of the README:\n%s", code)
		}
	}
	if blocks < 2 {
		t.Errorf("found %d blocks of Go code, want the README's two at least", blocks)
	}
}
