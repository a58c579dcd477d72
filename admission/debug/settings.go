package debug

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/scorecard"
)

// settings lists the fields of a config that are set, with defaults filled in, and
// says which differ from what is left out.
func settings(cfg admission.Config, redact redactor) []setting {
	plain := admission.Config{
		Lanes:      make(map[string]admission.LaneConfig, len(cfg.Lanes)),
		Regulators: make(map[string]admission.RegulatorConfig, len(cfg.Regulators)),
	}
	for name := range cfg.Lanes {
		plain.Lanes[name] = admission.LaneConfig{}
	}
	for name, rc := range cfg.Regulators {
		plain.Regulators[name] = admission.RegulatorConfig{Kind: rc.Kind}
	}
	plain = plain.WithDefaults()
	for name, rc := range plain.Regulators {
		rc.Kind = "" // it has no default, though others depend on it
		plain.Regulators[name] = rc
	}
	cfg.Scorecard.Rules = redact.rules(cfg.Scorecard.Rules)

	defaults := map[string]string{}
	flatten("", reflect.ValueOf(plain), func(field, value string) { defaults[field] = value })
	all := []setting{}
	flatten("", reflect.ValueOf(cfg), func(field, value string) {
		all = append(all, setting{Field: field, Value: value, Default: defaults[field], Changed: value != defaults[field]})
	})
	return all
}

// value is that of a field; "" if it is not set.
func (c *configReport) value(field string) string {
	for _, s := range c.Settings {
		if s.Field == field {
			return s.Value
		}
	}
	return ""
}

// flatten tells all fields below v but the zero ones, which mean that nothing was
// said.
func flatten(at string, v reflect.Value, tell func(field, value string)) {
	switch x := v.Interface().(type) {
	case scorecard.Rule:
		tell(at, x.String())
		return
	case encoding.TextMarshaler:
		tell(at, fmt.Sprint(x))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			flatten(strings.TrimPrefix(at+"."+name, "."), v.Field(i), tell)
		}
	case reflect.Map:
		names := v.MapKeys()
		slices.SortFunc(names, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, name := range names {
			flatten(at+"."+name.String(), v.MapIndex(name), tell)
		}
	case reflect.Slice:
		for i := range v.Len() {
			flatten(fmt.Sprintf("%s[%d]", at, i), v.Index(i), tell)
		}
	default:
		if !v.IsZero() {
			tell(at, fmt.Sprint(v.Interface()))
		}
	}
}

// redactor hides names; nil hides none.
type redactor func(string) string

func (f redactor) name(s string) string {
	if f == nil || s == "" {
		return printable(s)
	}
	return printable(f(s))
}

// text is one of somebody else's, in which names may stand.
func (f redactor) text(s string) string {
	if f == nil || s == "" {
		return printable(s)
	}
	return "(hidden, it may hold names)"
}

// rules hides the values that patterns name.
func (f redactor) rules(rules []scorecard.Rule) []scorecard.Rule {
	if f == nil {
		return rules
	}
	rules = slices.Clone(rules)
	for i := range rules {
		terms := strings.Split(rules[i].Match, ";")
		for j, term := range terms {
			if key, value, ok := strings.Cut(term, ":"); ok && strings.TrimSpace(value) != "*" {
				terms[j] = key + ":" + f(strings.TrimSpace(value))
			}
		}
		rules[i].Match = strings.Join(terms, ";")
	}
	return rules
}
