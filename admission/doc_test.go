package admission_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/configfile"
)

// sources parses a folder's Go files but for the tests.
func sources(t *testing.T, folder string) (files []*ast.File) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// packageComment is what go doc shows of this package: the comments of all its
// files.
func packageComment(t *testing.T) (text string) {
	t.Helper()
	for _, file := range sources(t, ".") {
		text += file.Doc.Text() + "\n"
	}
	return text
}

// phrases finds what a limit's law may give as its reason: each text of several
// words that is no argument of a call, such as an error's, and each Why.
func phrases(files []*ast.File) map[string]bool {
	found := map[string]bool{}
	add := func(n ast.Node, always bool) {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil && (always || strings.Contains(s, " ")) {
				found[s] = true
			}
		}
	}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr, *ast.ImportSpec:
				return false
			case *ast.Field: // its tag
				return n.Tag == nil
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Why" {
					add(n.Value, true)
				}
			case *ast.AssignStmt:
				if to, ok := n.Lhs[0].(*ast.SelectorExpr); ok && to.Sel.Name == "Why" {
					add(n.Rhs[0], true)
				}
			default:
				add(n, false)
			}
			return true
		})
	}
	return found
}

// Whoever reads LimitWhy at night finds it in the package comment, and nothing
// there that no law says.
func TestDocExplainsEveryLimitWhy(t *testing.T) {
	_, section, ok := strings.Cut(packageComment(t), "\n# Why the limit stands where it does\n")
	if !ok {
		t.Fatal("the package comment has no section about LimitWhy")
	}
	section, _, _ = strings.Cut(section, "\n# ")
	told := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^  - "([^"]+)":`).FindAllStringSubmatch(section, -1) {
		if told[m[1]] {
			t.Errorf("%q is explained twice", m[1])
		}
		told[m[1]] = true
	}
	said := phrases(sources(t, "../pid"))
	for _, want := range []string{"start", "pinned", "rest: failing at the floor", "hold: baseline lowered"} {
		if !said[want] {
			t.Fatalf("%q is not found in package pid: this test sees nothing", want)
		}
	}
	for _, phrase := range slices.Sorted(maps.Keys(said)) {
		if !told[phrase] {
			t.Errorf("LimitWhy may be %q, which the package comment does not explain", phrase)
		}
	}
	for _, phrase := range slices.Sorted(maps.Keys(told)) {
		if !said[phrase] {
			t.Errorf("the package comment explains %q, which no law says", phrase)
		}
	}
}

func TestDocNamesEveryReason(t *testing.T) {
	doc := packageComment(t)
	for r := range admission.NumReasons {
		if !regexp.MustCompile(`\b` + r.String() + `\b`).MatchString(doc) {
			t.Errorf("the package comment does not name reason %q", r)
		}
	}
}

// Tests that the package comment cites for its figures are there.
func TestDocCitesTestsThereAre(t *testing.T) {
	tests := ""
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_test.go") {
			var text []byte
			text, err = os.ReadFile(path)
			tests += string(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	cited := regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(packageComment(t), -1)
	if len(cited) == 0 {
		t.Error("no test is cited")
	}
	for _, name := range cited {
		if !strings.Contains(tests, "\nfunc "+name+"(t ") {
			t.Errorf("the package comment cites %s, which is not there", name)
		}
	}
}

// Each line of a config in the tuning guide is one that a file may have.
func TestDocTuningLinesAreConfigs(t *testing.T) {
	_, guide, ok := strings.Cut(packageComment(t), "\n# From a symptom to a line of the config\n")
	if !ok {
		t.Fatal("the package comment has no tuning guide")
	}
	guide, _, _ = strings.Cut(guide, "\n# ")
	lines := regexp.MustCompile(`(?m)^\t(.+)$`).FindAllStringSubmatch(guide, -1)
	if len(lines) < 10 {
		t.Errorf("only %d lines are found", len(lines))
	}
	for _, line := range lines {
		if _, err := configfile.Parse("the guide", []byte(line[1])); err != nil {
			t.Errorf("%s\n%v", line[1], err)
		}
	}
}
