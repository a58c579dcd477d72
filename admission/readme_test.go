package admission_test

import (
	"os"
	"path/filepath"
	"regexp"
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

// TestReadmeCitesTestsThereAre holds that each test that the README names as what
// holds a promise is in the file that it links to.
func TestReadmeCitesTestsThereAre(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	cited := regexp.MustCompile(`\[(Test\w+)\]\(([^)]+)\)`).FindAllStringSubmatch(string(readme), -1)
	if len(cited) < 10 {
		t.Errorf("only %d tests are cited", len(cited))
	}
	for _, c := range cited {
		text, err := os.ReadFile(filepath.Join("..", c[2]))
		if err != nil || !strings.Contains(string(text), "\nfunc "+c[1]+"(t ") {
			t.Errorf("the README cites %s, which is not in %s (%v)", c[1], c[2], err)
		}
	}
}

// TestReadmeLinksLead holds that each path that the README links to is there.
func TestReadmeLinksLead(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	links := regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(string(readme), -1)
	if len(links) < 30 {
		t.Errorf("only %d links are found", len(links))
	}
	for _, link := range links {
		if _, err := os.Stat(filepath.Join("..", link[1])); err != nil {
			t.Errorf("the README links to %s: %v", link[1], err)
		}
	}
}
