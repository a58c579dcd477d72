package configfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/spillway-go/spillway/admission"
)

// MaxSize is the most bytes that a file may have.
const MaxSize = 1 << 20

// Option says more about how a file is to be read or watched.
type Option func(*settings)

type settings struct {
	check func(admission.Config) error
	env   env
	watch watchSettings
}

// With tells what the controller will be made with, so that names in the file which
// none of these options brings in are errors with their position already in [Parse]
// and [Load]; without it [admission.New] reports them, without a position. [Watch]
// needs no telling.
func With(opts ...admission.Option) Option {
	return func(s *settings) {
		s.check = func(cfg admission.Config) error { return admission.Check(cfg, opts...) }
	}
}

func gather(opts []Option) settings {
	s := settings{check: admission.Config.Validate}
	for _, opt := range opts {
		if opt != nil {
			opt(&s)
		}
	}
	return s
}

// Load reads a file, see [Parse]. Errors other than [*Error] are those of reading it.
func Load(path string, opts ...Option) (admission.Config, error) {
	data, err := readFile(path)
	if err != nil {
		return admission.Config{}, fmt.Errorf("configfile: %w", err)
	}
	return Parse(path, data, opts...)
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxSize+1))
}

// Parse reads a config from YAML, or JSON, which is a part of YAML. name stands in
// errors. All that is wrong is reported at once, each thing as an [*Error]; the config
// returned is then the zero one.
//
// The names of fields are those of the config's JSON form. Durations have units (5ms),
// sizes may (64MiB), shares are in per cent (25%). What is left out has its default. A
// file that says nothing at all is an error, since that is what a file being written
// looks like; {} says all defaults.
func Parse(name string, data []byte, opts ...Option) (admission.Config, error) {
	return parse(name, data, gather(opts))
}

func parse(name string, data []byte, s settings) (admission.Config, error) {
	root, err := tree(name, data)
	if err != nil {
		return admission.Config{}, errors.Join(err) // in one form with those below
	}
	var cfg admission.Config
	d := newDecoder(name)
	d.value(root, nil, "", configShape, reflect.ValueOf(&cfg).Elem())
	if d.values > maxValues {
		return admission.Config{}, errors.Join(fileError(name, fmt.Sprintf("must have at most %d values, those of aliases counted each time", maxValues)))
	}
	d.shares(cfg)
	d.errs = append(d.errs, s.env.apply(&cfg)...)
	others := d.judge(s.check(cfg))
	if len(d.errs) == 0 && len(others) == 0 {
		return cfg, nil
	}
	return admission.Config{}, errors.Join(append(inOrder(d.errs), others...)...)
}

// absolute are the kinds whose limit is no share of anything, with what it is.
var absolute = map[string]string{
	"bytes": "bytes, such as 64MiB", "goroutines": "a number of goroutines, such as 50000",
	"heap": "bytes, such as 512MiB", "heap-cut": "bytes, such as 512MiB",
	"rate": "what one may begin in a second, such as 200",
}

// shares refuses them where a number would be taken for something else: 25% of no rate is
// a request in four seconds.
func (d *decoder) shares(cfg admission.Config) {
	for name, r := range cfg.Regulators {
		form, ok := absolute[r.Kind]
		path := fmt.Sprintf("regulators[%q].limit", name)
		if at := d.places[path]; ok && isShare.MatchString(at.text) {
			d.errs = append(d.errs, &Error{File: d.file, Line: at.line, Column: at.column, Path: path, Value: quote(at.text), Rule: "must be no share but " + form})
			d.unread[path] = true
		}
	}
}

func fileError(name, rule string) *Error {
	return &Error{File: name, Line: 1, Column: 1, Rule: rule}
}

// tree reads the one document that there must be.
func tree(name string, data []byte) (*yaml.Node, error) {
	if len(data) > MaxSize {
		return nil, fileError(name, fmt.Sprintf("must have at most %d bytes", MaxSize))
	}
	loader, err := yaml.NewLoader(strings.NewReader(string(data)))
	if err != nil {
		return nil, fileError(name, err.Error())
	}
	var doc, more yaml.Node
	switch err := loader.Load(&doc); {
	case errors.Is(err, io.EOF):
		return nil, fileError(name, "the file is empty; {} says all defaults")
	case err != nil:
		return nil, syntaxError(name, err)
	case len(doc.Content) != 1:
		return nil, fileError(name, "the file is empty; {} says all defaults")
	}
	switch err := loader.Load(&more); {
	case err == nil:
		return nil, &Error{File: name, Line: max(more.Line, 1), Column: max(more.Column, 1), Rule: "must be one document, not several"}
	case !errors.Is(err, io.EOF):
		return nil, syntaxError(name, err)
	}
	return doc.Content[0], nil
}

func syntaxError(name string, err error) error {
	e := fileError(name, "is not YAML: "+err.Error())
	if l, ok := errors.AsType[*yaml.LoadError](err); ok {
		e.Rule = "is not YAML: " + l.Message
		if l.ContextMark.Line > 0 {
			e.Rule += fmt.Sprintf(" (%s from line %d)", l.ContextMsg, l.ContextMark.Line)
		}
		if strings.HasPrefix(l.Message, "found character that cannot start any token") {
			e.Rule += "; indent by spaces, not tabs, and quote what begins with @ or `"
		}
		if l.Mark.Line > 0 {
			e.Line, e.Column = l.Mark.Line, l.Mark.Column
		}
	}
	return e
}

// judge places what the config's own check says; it returns what is not about the
// config.
func (d *decoder) judge(err error) (others []error) {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range all.Unwrap() {
			others = append(others, d.judge(err)...)
		}
		return others
	}
	fe, ok := errors.AsType[*admission.FieldError](err)
	switch {
	case err == nil:
	case !ok:
		return []error{err}
	case !d.follows(fe):
		e := &Error{File: d.file, Path: fe.Field, Value: fe.Value, Rule: fe.Rule}
		if len(d.errs) < most { // of more errors few are shown, and to look for what was meant takes its time
			e.Hint = nearest(lastName(fe), fe.Known)
		}
		path := fe.Field
		for _, known := d.places[path]; !known && path != ""; _, known = d.places[path] {
			path = path[:max(strings.LastIndexAny(path, ".["), 0)] // not there: a default
		}
		at := d.places[path]
		e.Line, e.Column = at.line, at.column
		if path == fe.Field && at.text != "" {
			e.Value = quote(at.text)
		}
		d.errs = append(d.errs, e)
	}
	return nil
}

// follows tells whether the error may only be there because of what could not be read:
// it is about that, or about something inside, or its rule names a neighbour that has
// its default instead.
func (d *decoder) follows(fe *admission.FieldError) bool {
	for i := range len(fe.Field) + 1 {
		if (i == len(fe.Field) || fe.Field[i] == '.' || fe.Field[i] == '[') && d.unread[fe.Field[:i]] {
			return true
		}
	}
	parent, _ := split(fe.Field)
	named := func(name string) bool { return strings.Contains(fe.Rule, name) }
	return slices.ContainsFunc(d.unreadIn[parent], named) || slices.ContainsFunc(d.unreadIn[fe.Field], named)
}

// lastName is the name that a did-you-mean is about: the value, or, where the entry as a
// whole is wrong, its own.
func lastName(fe *admission.FieldError) string {
	quoted := fe.Value
	if quoted == "" {
		quoted = strings.TrimSuffix(fe.Field[strings.LastIndexByte(fe.Field, '[')+1:], "]")
	}
	return strings.Trim(quoted, `"`)
}
