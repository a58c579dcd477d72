package configfile

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/spillway-go/spillway/admission"
)

// Format writes a config as YAML that [Parse] reads back as the same; what has its
// zero value is left out. Of [admission.Controller.Config] it makes a file with
// every default in it. The error is that of cfg.Validate.
func Format(cfg admission.Config) ([]byte, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	data, err := yaml.Dump(nodeOf(configShape, reflect.ValueOf(cfg)), yaml.WithIndent(2))
	if err != nil {
		return nil, fmt.Errorf("configfile: %w", err)
	}
	return data, nil
}

func nodeOf(s *shape, v reflect.Value) *yaml.Node {
	switch {
	case s.scalar != nil:
		return scalarNode(s.scalar.write(v))
	case v.Kind() == reflect.Slice:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for i := range v.Len() {
			n.Content = append(n.Content, nodeOf(s.elem, v.Index(i)))
		}
		return n
	case v.Kind() == reflect.Map:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		names := v.MapKeys()
		slices.SortFunc(names, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, name := range names {
			n.Content = append(n.Content, scalarNode(scalarText{text: name.String()}), nodeOf(s.elem, v.MapIndex(name)))
		}
		return n
	}
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, f := range s.fields {
		fv := v.Field(f.index)
		if f.required || !isZero(f.shape, fv) {
			n.Content = append(n.Content, scalarNode(scalarText{text: f.name}), nodeOf(f.shape, fv))
		}
	}
	return n
}

// scalarNode quotes text only where YAML would take it for something else.
func scalarNode(t scalarText) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: t.text}
	if !t.plain {
		n.Tag = "!!str"
	}
	return n
}

// isZero tells whether leaving the value out says the same.
func isZero(s *shape, v reflect.Value) bool {
	if s.scalar == nil && v.Kind() != reflect.Struct {
		return v.Len() == 0
	}
	if s.scalar == nil {
		return !slices.ContainsFunc(s.fields, func(f field) bool { return f.required || !isZero(f.shape, v.Field(f.index)) })
	}
	return v.IsZero()
}
