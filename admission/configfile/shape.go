package configfile

import (
	"reflect"
	"strings"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/codel"
	"github.com/spillway-go/spillway/scorecard"
)

// shape is how a type stands in a file. Reading, writing and the schema all follow
// the same one, which follows the types: a field is declared once.
type shape struct {
	typ    reflect.Type
	fields []field // of a struct
	elem   *shape  // of a map or a list
	scalar *scalar // of anything else
}

type field struct {
	name     string
	key      string // type and field, such as codel.Config.Law
	index    int
	shape    *shape
	required bool
}

// configShape is that of a file.
var configShape = shapeOf(reflect.TypeFor[admission.Config]())

// words are the fields whose text is one of a few. That the lists are whole is held
// by a test against what Validate says.
var words = map[string][]string{
	"pid.LimitConfig.Law":               {"octave", "aimd", "gradient2", "vegas"},
	"pid.GateConfig.Law":                {"ff", "pid", "off"},
	"codel.Config.Law":                  {codel.LawDeadline, codel.LawTight, codel.LawCoDel},
	"admission.RegulatorConfig.By":      {"tenant", "caller", "key"},
	"admission.RegulatorConfig.Counts":  {"requests", "cost", "bytes"},
	"admission.RegulatorConfig.OnStale": {"ignore", "hold"},
	"admission.RegulatorConfig.Kind": {
		"bytes", "cpu", "gc", "goroutines", "heap", "heap-cut", "hot-key",
		"psi-cpu", "psi-io", "psi-memory", "rate", "sched-latency",
	},
}

// special are the fields that take more than their type says.
var special = map[string]*scalar{
	"admission.RegulatorConfig.Limit":    &amount,
	"admission.RegulatorConfig.Floor":    &size,
	"admission.RegulatorConfig.Setpoint": &ratio,
	"admission.RegulatorConfig.Shadow":   &trialMode,
	"scorecard.Rule.Shadow":              &trialMode,
}

// renamed are the fields that a file calls differently from the JSON name: a rule and
// a regulator have a mode, as the whole and a lane have.
var renamed = map[string]string{"scorecard.Rule.Shadow": "mode", "admission.RegulatorConfig.Shadow": "mode"}

// required are the fields whose zero value is a decision that nobody should take by
// leaving a line out: a cap of 0 forbids.
var required = map[string]bool{"scorecard.Rule.Name": true, "scorecard.Rule.Match": true, "scorecard.Rule.Cap": true}

func shapeOf(t reflect.Type) *shape {
	s := &shape{typ: t, scalar: scalarOf(t)}
	if s.scalar != nil {
		return s
	}
	switch t.Kind() {
	case reflect.Map, reflect.Slice:
		s.elem = shapeOf(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			s.fields = append(s.fields, fieldOf(t, i))
		}
	default:
		panic("configfile: no form for " + t.String()) // at start, of a type of ours: a test would see it
	}
	return s
}

func fieldOf(t reflect.Type, i int) field {
	sf := t.Field(i)
	key := t.String() + "." + sf.Name
	name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
	if other, ok := renamed[key]; ok {
		name = other
	}
	f := field{name: name, key: key, index: i, required: required[key]}
	switch {
	case special[key] != nil:
		f.shape = &shape{typ: sf.Type, scalar: special[key]}
	case words[key] != nil:
		f.shape = &shape{typ: sf.Type, scalar: wordOf(words[key])}
	default:
		f.shape = shapeOf(sf.Type)
	}
	return f
}

func scalarOf(t reflect.Type) *scalar {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return &duration
	case reflect.TypeFor[admission.Mode]():
		return &mode
	case reflect.TypeFor[admission.Priority]():
		return &priority
	case reflect.TypeFor[scorecard.Cap](), reflect.TypeFor[*scorecard.Cap]():
		return &limitCap
	}
	switch t.Kind() {
	case reflect.String:
		return &text
	case reflect.Int, reflect.Int64:
		return &whole
	case reflect.Float64:
		return &number
	}
	return nil
}

// field finds one by the name that a file calls it.
func (s *shape) field(name string) (field, bool) {
	for _, f := range s.fields {
		if f.name == name {
			return f, true
		}
	}
	return field{}, false
}

func (s *shape) names() (all []string) {
	for _, f := range s.fields {
		all = append(all, f.name)
	}
	return all
}
