package admission_test

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const modulePath = "github.com/spillway-go/spillway"

var (
	leaves  = []string{"codel", "pid", "scorecard", "regulators"}
	surface = with(leaves, "admission") // what the packages around the controller build on
)

// arrows says what each package may import beside the standard library: packages of ours by
// their exact path, those of others by a path that they are or lie under. A package without
// an entry is a breach: a new one states its place here first.
var arrows = map[string]struct {
	may []string
	why string
}{
	"codel":             {nil, "a leaf: a data structure that is of use by itself"},
	"pid":               {nil, "a leaf: arithmetic that is of use by itself"},
	"scorecard":         {[]string{"internal/spin", "internal/words"}, "a leaf: controllers may share a card, so it knows none of them"},
	"regulators":        {[]string{"golang.org/x/time/rate"}, "a leaf: its rate guard is x/time's limiter"},
	"regulators/promql": {[]string{"regulators", "github.com/prometheus/client_golang/api", "github.com/prometheus/common/model"}, "alone: only who queries a server links its client"},

	"admission/internal/core": {[]string{"codel", "pid", "scorecard"}, "only pure leaves: the simulator runs it in virtual time"},
	"admission":               {with(leaves, "admission/internal/core", "internal/words"), "a decision needs no transport, file format or metrics library"},

	"admission/sim":            {with(surface, "admission/internal/core", "go.yaml.in/yaml/v4"), "drives the core, reads scenarios"},
	"admission/sim/peers":      {[]string{"pid"}, "laws to compare with, apart from what a service links"},
	"admission/configfile":     {with(surface, "go.yaml.in/yaml/v4", "github.com/fsnotify/fsnotify"), "reads and watches a file"},
	"admission/internal/facts": {surface, "what monitoring systems are told, apart from how each is told"},
	"admission/promadmission":  {with(surface, "admission/internal/facts", "github.com/prometheus/client_golang/prometheus", "github.com/prometheus/client_model/go"), "reads a controller's statistics"},
	"admission/oteladmission":  {with(surface, "admission/internal/facts", "go.opentelemetry.io/otel"), "only the API: which SDK is its user's choice"},
	"admission/debug":          {surface, "a page about a controller needs only the controller"},
	"internal/spin":            {nil, "a lock"},
	"internal/words":           {nil, "strings"},
	"internal/race":            {nil, "a constant, for tests"},
	"internal/admissiontest":   {surface, "what tests of several packages share of the controller's"},
	"httpmw":                   {with(surface, "github.com/felixge/httpsnoop"), "wraps a ResponseWriter and keeps its optional interfaces"},
	"grpcmw":                   {with(surface, "google.golang.org/grpc", "google.golang.org/genproto/googleapis/rpc", "google.golang.org/protobuf"), "interceptors, with error details"},
}

// fenced lists what not even a test outside it may import; other packages are open to tests,
// which may bring what they compare with.
var fenced = map[string]string{
	"examples":          "a module of its own: its requirements are not the library's",
	"regulators/promql": "the client's dependencies belong to those who ask for them",
}

// pure lists the packages whose code runs alike in production and in virtual time, each with
// the imports that it is forgiven.
var pure = map[string]struct {
	forgiven []string
	why      string
}{
	"codel":                   {nil, "its owner has a lock"},
	"pid":                     {nil, "its owner has a lock"},
	"scorecard":               {[]string{"sync", "sync/atomic", "hash/maphash"}, "controllers share a card, hence its one lock; tenants name themselves, hence a seeded hash"},
	"admission/sim/peers":     {nil, "as every law of a limit"},
	"admission/internal/core": {[]string{"sync/atomic"}, "the lane's lock is its owner's; lock-free only where measured to win"},
}

// impureImports may not be imported by pure packages, nor what lies below them.
var impureImports = map[string]string{
	"context":      "a deadline is an argument",
	"crypto/rand":  "chance is an argument",
	"hash/maphash": "its seeds are random: no two runs would be alike",
	"io":           "IO is the shell's",
	"log":          "the shell tells, by hooks",
	"math/rand":    "chance is an argument",
	"net":          "IO is the shell's",
	"os":           "IO is the shell's",
	"runtime":      "what the process does is a signal's to read",
	"sync":         "the owner has the lock",
	"syscall":      "IO is the shell's",
	"unsafe":       "linkname would reach the clock",
}

// impureNames are the names that pure packages may not use of packages they may import, be it
// in a call or as a value.
var impureNames = map[string][]string{
	"time": {"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "Tick", "NewTimer", "NewTicker", "Timer", "Ticker"},
	"fmt":  {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
}

func TestArchitecture(t *testing.T) {
	// The two modules are listed apart, so that this holds with a workspace and without one;
	// -find needs no dependency, hence no network.
	for _, dir := range []string{"..", "../examples"} {
		list := exec.Command("go", "list", "-find", "-f", "{{.ImportPath}}\t{{.Dir}}", "./...")
		list.Dir, list.Stderr = dir, os.Stderr
		out, err := list.Output()
		if err != nil {
			t.Fatalf("go list in %s: %v", dir, err)
		}
		for line := range strings.Lines(string(out)) {
			pkg, pkgDir, _ := strings.Cut(strings.TrimSpace(line), "\t")
			for _, breach := range breaches(ours(pkg), readSources(t, pkgDir)) {
				t.Error(breach)
			}
		}
	}
}

// readSources reads a folder's Go files by name, those for other platforms and the tests too.
func readSources(t *testing.T, dir string) map[string]string {
	t.Helper()
	sources := map[string]string{}
	folder := os.DirFS(dir)
	names, err := fs.Glob(folder, "*.go")
	for _, name := range names {
		text, readErr := fs.ReadFile(folder, name)
		sources[name], err = string(text), errors.Join(err, readErr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return sources
}

// breaches checks one package, its sources given by file name, against all rules above.
func breaches(pkg string, sources map[string]string) (found []string) {
	fset := token.NewFileSet()
	code := map[string]*ast.File{}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		file, err := parser.ParseFile(fset, path.Join(pkg, name), sources[name], parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			found = append(found, err.Error())
			continue
		}
		test := strings.HasSuffix(name, "_test.go")
		if !test {
			code[name] = file
		}
		if !within(pkg, "examples") {
			found = append(found, arrowBreaches(fset, pkg, file, test)...)
		}
		if _, ok := pure[pkg]; ok && !test {
			found = append(found, impurities(fset, pkg, file)...)
		}
	}
	if len(code) == 0 {
		return found // tests alone have no place in the layout
	}
	if _, ok := arrows[pkg]; !ok && !within(pkg, "examples") {
		found = append(found, pkg+": has no entry in arrows")
	}
	return append(found, docBreaches(pkg, code)...)
}

func arrowBreaches(fset *token.FileSet, pkg string, file *ast.File, test bool) (found []string) {
	for _, spec := range file.Imports {
		imported := importPath(spec)
		short, isOurs := ours(imported), within(imported, modulePath)
		std := !strings.Contains(strings.Split(imported, "/")[0], ".")
		switch {
		case std:
		case test:
			for fence, why := range fenced {
				if within(short, fence) && !within(pkg, fence) {
					found = append(found, at(fset, spec, "test imports %s: %s", short, why))
				}
			}
		case !slices.ContainsFunc(arrows[pkg].may, func(may string) bool { return short == may || !isOurs && within(short, may) }):
			found = append(found, at(fset, spec, "imports %s: %s", short, arrows[pkg].why))
		}
	}
	return found
}

func impurities(fset *token.FileSet, pkg string, file *ast.File) (found []string) {
	report := func(n ast.Node, format string, args ...any) {
		found = append(found, at(fset, n, "impure: "+format, args...))
	}
	imports := map[string]string{} // path by the name that the file gives it
	for _, spec := range file.Imports {
		imported := importPath(spec)
		name := path.Base(imported)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if name == "." {
			report(spec, "dot import of %s hides where its names come from", imported)
		}
		imports[name] = imported
		for impure, why := range impureImports {
			if within(imported, impure) && !slices.Contains(pure[pkg].forgiven, imported) {
				report(spec, "imports %s: %s (%s)", imported, why, pure[pkg].why)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			report(n, "go statement")
		case *ast.SelectStmt:
			report(n, "select statement")
		case *ast.SendStmt:
			report(n, "send on a channel")
		case *ast.ChanType: // without one, none can be ranged over or closed either
			report(n, "channel")
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				report(n, "receive from a channel")
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && slices.Contains(impureNames[imports[x.Name]], n.Sel.Name) {
				report(n, "uses %s.%s", imports[x.Name], n.Sel.Name)
			}
		}
		return true
	})
	return found
}

// docBreaches wants the package comment where a reader looks for it: doc.go, or a small command's main.go.
func docBreaches(pkg string, code map[string]*ast.File) []string {
	lead, file := "Package ", code["doc.go"]
	if main := code["main.go"]; main != nil {
		lead, file = "Command ", cmp.Or(file, main)
	}
	lead += path.Base(pkg) + " "
	if file == nil || !strings.HasPrefix(strings.ReplaceAll(file.Doc.Text(), "\n", " "), lead) {
		return []string{fmt.Sprintf("%s: wants a package comment in doc.go (a command's may be in main.go) that starts with %q", pkg, lead)}
	}
	return nil
}

func importPath(spec *ast.ImportSpec) string {
	unquoted, _ := strconv.Unquote(spec.Path.Value) // the parser has refused what is no string
	return unquoted
}

// ours shortens a path of our own module to what stands below it.
func ours(importPath string) string { return strings.TrimPrefix(importPath, modulePath+"/") }

func with(base []string, more ...string) []string { return slices.Concat(base, more) }

func within(p, root string) bool { return p == root || strings.HasPrefix(p, root+"/") }

func at(fset *token.FileSet, n ast.Node, format string, args ...any) string {
	return fset.Position(n.Pos()).String() + ": " + fmt.Sprintf(format, args...)
}

// TestArchitectureRulesBite plants breaches, and neighbours of breaches that are fine.
func TestArchitectureRulesBite(t *testing.T) {
	for _, tc := range []struct{ name, pkg, file, source, want string }{ // want: part of the only breach, or none
		{"time as an argument", "codel", "x.go", `import "time"; func f(now time.Time) { _ = now.Sub(now) }`, ""},
		{"goroutine", "codel", "x.go", `func f() { go f() }`, "codel/x.go:2:12: impure: go statement"},
		{"goroutine on another platform", "pid", "x_windows.go", `func f() { go f() }`, "go statement"},
		{"goroutine in a test", "codel", "x_test.go", `func f() { go f() }`, ""},
		{"clock under an alias", "pid", "x.go", `import clock "time"; var t = clock.Now()`, "uses time.Now"},
		{"clock as a value", "pid", "x.go", `import "time"; var now = time.Now`, "uses time.Now"},
		{"clock by a dot import", "codel", "x.go", `import . "time"; var t = Now()`, "dot import of time"},
		{"timer", "admission/internal/core", "x.go", `import "time"; var t *time.Timer`, "uses time.Timer"},
		{"printing", "codel", "x.go", `import "fmt"; func f() { fmt.Println() }`, "uses fmt.Println"},
		{"error text", "codel", "x.go", `import "fmt"; var err = fmt.Errorf("codel: full")`, ""},
		{"IO", "scorecard", "x.go", `import "os/exec"`, "imports os/exec"},
		{"randomness", "codel", "x.go", `import "math/rand/v2"`, "imports math/rand/v2"},
		{"lock without leave", "admission/internal/core", "x.go", `import "sync"`, "imports sync"},
		{"lock with leave", "scorecard", "x.go", `import "sync"`, ""},
		{"channel", "codel", "x.go", `var c chan int`, "channel"},
		{"select", "codel", "x.go", `func f() { select {} }`, "select statement"},
		{"send", "codel", "x.go", `func f() { c <- 1 }`, "send on a channel"},
		{"receive", "codel", "x.go", `func f() { <-c }`, "receive from a channel"},
		{"leaf to leaf", "codel", "x.go", `import "github.com/spillway-go/spillway/pid"`, "imports pid"},
		{"leaf to another's module", "scorecard", "x.go", `import "golang.org/x/sync/semaphore"`, "imports golang.org/x/sync/semaphore"},
		{"regulators to its limiter", "regulators", "x.go", `import "golang.org/x/time/rate"`, ""},
		{"regulators to the query client", "regulators", "x.go", `import "github.com/prometheus/client_golang/api"`, "imports github.com/prometheus/client_golang/api"},
		{"controller to the query client", "admission", "x.go", `import "github.com/prometheus/client_golang/api"`, "imports github.com/prometheus/client_golang/api"},
		{"controller to the query signal", "admission", "x.go", `import "github.com/spillway-go/spillway/regulators/promql"`, "imports regulators/promql"},
		{"controller to a transport", "admission", "x.go", `import "google.golang.org/grpc/codes"`, "imports google.golang.org/grpc/codes"},
		{"adapter to a part of its transport", "grpcmw", "x.go", `import "google.golang.org/grpc/codes"`, ""},
		{"adapter past the controller", "httpmw", "x.go", `import "github.com/spillway-go/spillway/admission/internal/core"`, "imports admission/internal/core"},
		{"query client in a test", "admission", "x_test.go", `import "github.com/spillway-go/spillway/regulators/promql"`, "test imports regulators/promql"},
		{"examples in a test", "httpmw", "x_test.go", `import "github.com/spillway-go/spillway/examples/shedcurve/report"`, "test imports examples"},
		{"example to anything", "examples/any", "x.go", `import "example.org/heavy"`, ""},
		{"unknown package", "cache", "x.go", ``, "cache: has no entry"},
		{"wrong package comment", "codel", "doc.go", ``, `starts with "Package codel "`},
		{"command without a comment", "examples/any", "main.go", ``, `starts with "Command any "`},
		{"syntax error", "codel", "x.go", `func {`, "codel/x.go:2:6"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			name := path.Base(tc.pkg)
			sources := map[string]string{}
			if tc.file != "main.go" {
				sources["doc.go"] = "// Package " + name + "\n// is planted.\npackage " + name
			}
			sources[tc.file] = "package " + name + "\n" + tc.source
			got := breaches(tc.pkg, sources)
			if tc.want == "" && len(got) > 0 {
				t.Errorf("breaches: %q, want none", got)
			} else if tc.want != "" && (len(got) != 1 || !strings.Contains(got[0], tc.want)) {
				t.Errorf("breaches: %q, want one with %q", got, tc.want)
			}
		})
	}
}
