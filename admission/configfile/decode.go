package configfile

import (
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v4"
)

// maxValues bounds the values of a file, those behind an alias counted each time.
const maxValues = 100_000

// decoder walks a file's tree along the shape of its type.
type decoder struct {
	file   string
	errs   []*Error
	places map[string]place // by path: where to point for an error
	values int

	// What could not be read has its default in the config, so that neither it nor its
	// neighbours can be judged by what is there.
	unread   map[string]bool     // by path
	unreadIn map[string][]string // the names, by the path of what they are in
}

type place struct {
	line, column int
	text         string // as it stands there; empty of what is no scalar
}

func newDecoder(file string) *decoder {
	return &decoder{file: file, places: map[string]place{}, unread: map[string]bool{}, unreadIn: map[string][]string{}}
}

func (d *decoder) fail(n *yaml.Node, path, value, rule, hint string) {
	d.errs = append(d.errs, &Error{File: d.file, Line: n.Line, Column: n.Column, Path: path, Value: value, Rule: rule, Hint: hint})
}

// cannot is fail for a value that is not read for it.
func (d *decoder) cannot(n *yaml.Node, path, value, rule, hint string) {
	d.fail(n, path, value, rule, hint)
	d.unread[path] = true
	parent, name := split(path)
	d.unreadIn[parent] = append(d.unreadIn[parent], name)
}

// split takes the last name off the path of a field.
func split(path string) (parent, name string) {
	i := strings.LastIndexByte(path, '.')
	return path[:max(i, 0)], path[i+1:]
}

// value reads n, which stands at path and, if it is a field or entry, has the name key.
func (d *decoder) value(n, key *yaml.Node, path string, s *shape, v reflect.Value) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	at := n
	if key != nil && s.scalar == nil {
		at = key // of what extends over lines its name is the best place to point to
	}
	d.places[path] = place{at.Line, at.Column, n.Value}
	d.values++
	switch {
	case d.values > maxValues: // is said in the end
	case n.Style&yaml.TaggedStyle != 0:
		d.cannot(n, path, n.Tag, "must have no tag", "")
	case s.scalar != nil:
		d.scalar(n, path, s.scalar, v)
	case s.typ.Kind() == reflect.Slice:
		d.list(n, path, s, v)
	case s.typ.Kind() == reflect.Map:
		d.names(n, path, s, v)
	default:
		d.fields(n, key, path, s, v)
	}
}

func (d *decoder) scalar(n *yaml.Node, path string, s *scalar, v reflect.Value) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		d.wrongKind(n, path, s.form)
		return
	}
	rule, hint := s.read(scalarText{n.Value, n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0}, v)
	if rule == "" {
		return
	}
	if hint == "" {
		hint = nearest(n.Value, s.known)
	}
	d.cannot(n, path, quote(n.Value), rule, hint)
}

func (d *decoder) list(n *yaml.Node, path string, s *shape, v reflect.Value) {
	if n.Kind != yaml.SequenceNode {
		d.wrongKind(n, path, "a list")
		return
	}
	if len(n.Content) == 0 {
		return // nil, as if it were left out
	}
	items := reflect.MakeSlice(s.typ, len(n.Content), len(n.Content))
	for i, item := range n.Content {
		d.value(item, nil, fmt.Sprintf("%s[%d]", path, i), s.elem, items.Index(i))
	}
	v.Set(items)
}

// names reads a mapping whose keys are the user's.
func (d *decoder) names(n *yaml.Node, path string, s *shape, v reflect.Value) {
	entries := reflect.MakeMap(s.typ)
	d.entries(n, path, "a mapping of names", func(key, value *yaml.Node) {
		elem := reflect.New(s.typ.Elem()).Elem()
		d.value(value, key, fmt.Sprintf("%s[%q]", path, key.Value), s.elem, elem)
		// Also where it is wrong: who names it should not be told that there is none.
		entries.SetMapIndex(reflect.ValueOf(key.Value), elem)
	})
	if entries.Len() > 0 {
		v.Set(entries)
	}
}

// fields reads a mapping whose keys are ours.
func (d *decoder) fields(n, key *yaml.Node, path string, s *shape, v reflect.Value) {
	given := map[string]bool{}
	d.entries(n, path, "a mapping with some of "+strings.Join(s.names(), ", "), func(key, value *yaml.Node) {
		at := strings.TrimPrefix(path+"."+key.Value, ".")
		if f, known := s.field(key.Value); known {
			given[f.name] = true
			d.value(value, key, at, f.shape, v.Field(f.index))
		} else {
			d.fail(key, at, "", "unknown field, must be one of "+strings.Join(s.names(), ", "), nearest(key.Value, s.names()))
		}
	})
	if n.Kind != yaml.MappingNode {
		return
	}
	if key == nil {
		key = n
	}
	for _, f := range s.fields {
		if f.required && !given[f.name] {
			d.cannot(key, path+"."+f.name, "missing", "must be "+f.shape.scalar.form, "")
		}
	}
}

// entries calls read for each entry of a mapping that has a name of its own.
func (d *decoder) entries(n *yaml.Node, path, form string, read func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		d.wrongKind(n, path, form)
		return
	}
	first := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case key.Tag == "!!merge":
			d.fail(key, path, "", "merge keys are not read: write the fields out, or use an alias for the whole", "")
		case key.Kind != yaml.ScalarNode || key.Tag == "!!null" || key.Style&yaml.TaggedStyle != 0:
			d.fail(key, path, "", "a name must be plain text", "")
		case first[key.Value] != nil:
			d.fail(key, path, "", fmt.Sprintf("%s must come once, it is also in line %d", quote(key.Value), first[key.Value].Line), "")
		default:
			first[key.Value] = key
			read(key, value)
		}
	}
}

func (d *decoder) wrongKind(n *yaml.Node, path, form string) {
	switch {
	case n.Kind == yaml.MappingNode:
		d.cannot(n, path, "a mapping", "must be "+form, "")
	case n.Kind == yaml.SequenceNode:
		d.cannot(n, path, "a list", "must be "+form, "")
	case n.Tag == "!!null":
		d.cannot(n, path, "null", "must be "+form+"; leave it out for the default", "")
	default:
		d.cannot(n, path, quote(n.Value), "must be "+form, "")
	}
}

// quote shows the first of a value.
func quote(text string) string { return fmt.Sprintf("%.64q", text) }
