package configfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/admission"
)

// The schema that editors read says what the types and their comments say. With -update
// it is written anew.
func TestSchema(t *testing.T) {
	schema := schemaOf(configShape, fieldDocs(t))
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["title"] = "Spillway's config"
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(schema); err != nil {
		t.Fatal(err)
	}
	golden(t, "config.schema.json", out.String())
}

type object = map[string]any

func schemaOf(s *shape, docs map[string]string) object {
	switch {
	case s.scalar != nil:
		return scalarSchema(s.scalar)
	case s.typ.Kind() == reflect.Slice:
		return object{"type": "array", "items": schemaOf(s.elem, docs)}
	case s.typ.Kind() == reflect.Map:
		return object{"type": "object", "additionalProperties": schemaOf(s.elem, docs)}
	}
	properties, required := object{}, []string{}
	for _, f := range s.fields {
		p := schemaOf(f.shape, docs)
		if docs[f.key] != "" {
			p["description"] = docs[f.key]
		}
		properties[f.name] = p
		if f.required {
			required = append(required, f.name)
		}
	}
	o := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}

func scalarSchema(s *scalar) object {
	pattern := func(p string) object { return object{"type": "string", "pattern": p} }
	shares, sizes := pattern(isShare.String()), pattern(isSize.String())
	if s.known != nil {
		return object{"enum": s.known}
	}
	return map[*scalar]object{
		&text:     {"type": "string"},
		&whole:    {"type": "integer"},
		&number:   {"type": "number"},
		&size:     {"anyOf": []object{{"type": "integer"}, sizes}},
		&ratio:    {"anyOf": []object{{"type": "number"}, shares}},
		&amount:   {"anyOf": []object{{"type": "number"}, sizes, shares}},
		&limitCap: {"anyOf": []object{{"type": "integer", "minimum": 0}, shares}},
		&duration: pattern(`^[-+]?([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`),
		&priority: pattern(`^t[0-5](/[0-9]{1,3})?$`),
	}[s]
}

// fieldDocs reads the comments of the config's fields, by type and field.
func fieldDocs(t *testing.T) map[string]string {
	docs := map[string]string{}
	links := regexp.MustCompile(`\[([A-Za-z.]+)\]`)
	for _, pkg := range []string{"admission", "codel", "pid", "scorecard"} {
		dir := filepath.Join("..", "..", pkg)
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok {
					return true
				}
				if st, ok := spec.Type.(*ast.StructType); ok {
					for _, f := range st.Fields.List {
						for _, name := range f.Names {
							text := strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " ")
							docs[pkg+"."+spec.Name.Name+"."+name.Name] = links.ReplaceAllString(text, "$1")
						}
					}
				}
				return false
			})
		}
	}
	return docs
}

// The tables by name speak of fields that there are.
func TestTablesNameFields(t *testing.T) {
	seen := map[string]bool{}
	var walk func(*shape)
	walk = func(s *shape) {
		if s.elem != nil {
			walk(s.elem)
		}
		for _, f := range s.fields {
			if f.name == "" || f.name == "-" {
				t.Errorf("%s has no name in a file", f.key)
			}
			seen[f.key] = true
			walk(f.shape)
		}
	}
	walk(configShape)
	for key := range words {
		if !seen[key] {
			t.Errorf("words: there is no %s", key)
		}
	}
	for key := range special {
		if !seen[key] {
			t.Errorf("special: there is no %s", key)
		}
	}
	for key := range required {
		if !seen[key] {
			t.Errorf("required: there is no %s", key)
		}
	}
}

// The lists of words are those that Validate knows.
func TestWordsAreWhole(t *testing.T) {
	lane := func(l admission.LaneConfig) admission.Config {
		return admission.Config{Lanes: map[string]admission.LaneConfig{"default": l}}
	}
	regulator := func(r admission.RegulatorConfig) admission.Config {
		return admission.Config{Regulators: map[string]admission.RegulatorConfig{"x": r}}
	}
	const none = "no such word"
	var l [3]admission.LaneConfig
	l[0].Limit.Law, l[1].Queue.Law, l[2].Gate.Law = none, none, none
	for key, cfg := range map[string]admission.Config{
		"pid.LimitConfig.Law": lane(l[0]), "codel.Config.Law": lane(l[1]), "pid.GateConfig.Law": lane(l[2]),
		"admission.RegulatorConfig.Kind": regulator(admission.RegulatorConfig{Kind: none}),
		"admission.RegulatorConfig.By":   regulator(admission.RegulatorConfig{By: none}), "admission.RegulatorConfig.Counts": regulator(admission.RegulatorConfig{Counts: none}),
		"admission.RegulatorConfig.OnStale": regulator(admission.RegulatorConfig{OnStale: none}),
	} {
		_, list, ok := strings.Cut(cfg.Validate().Error(), "must be one of ")
		if got := strings.Split(list, ", "); !ok || !slices.Equal(got, words[key]) {
			t.Errorf("%s: Validate knows %q, a file %q", key, got, words[key])
		}
	}
	if len(words) != 7 {
		t.Errorf("%d lists of words, and 7 are compared", len(words))
	}
}

// The examples are right, and so is the file that this package's own comment shows.
func TestExamplesAreRight(t *testing.T) {
	files, err := filepath.Glob("../../examples/config/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d example files, want 3; %v", len(files), err)
	}
	for _, path := range files {
		if _, err := Load(path); err != nil {
			t.Error(err)
		}
		text, err := os.ReadFile(path)
		if err != nil || !bytes.HasPrefix(text, []byte("# yaml-language-server: $schema=../../admission/configfile/config.schema.json\n")) {
			t.Errorf("%s: its first line does not name the schema; %v", path, err)
		}
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(doc), "//\tmode: enforce")
	text, _, _ = strings.Cut("mode: enforce"+text, "//\n")
	text = strings.ReplaceAll(text, "//\t", "")
	if _, err := Parse("doc.go", []byte(text)); !ok || err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	_, err = Parse("spillway.yaml", []byte(strings.NewReplacer("min: 4", "min: 400", "    deadline", "    dead_line").Replace(text)))
	readme, _ := os.ReadFile("../../README.md")
	for i, line := range strings.Split(fmt.Sprint(err), "\n") {
		if !strings.Contains(string(doc), "//\t"+line+"\n") || i == 0 && !strings.Contains(strings.ReplaceAll(string(readme), "\n", " "), line) {
			t.Errorf("the package comment or the README does not show the error %s", line)
		}
	}
}
