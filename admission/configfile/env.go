package configfile

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/spillway-go/spillway/admission"
)

// env reads overrides from environment variables.
type env struct {
	prefix string
	lookup func(string) (string, bool)
}

// Env has environment variables override what the file says, for the few values that
// somebody must be able to change where the file cannot be. With prefix SPILLWAY:
//
//   - SPILLWAY_MODE: enforce, shadow or off.
//   - SPILLWAY_LIMIT_FIXED, _INITIAL, _MIN, _MAX: the limit of every lane. FIXED pins
//     it, whatever else the file says of it.
//   - SPILLWAY_LANE_WRITE_LIMIT_FIXED and so on: the limit of the lane write alone;
//     it goes before the one for every lane. In the name of a lane, what is no letter
//     or digit is _.
//
// A variable that is set to nothing counts as not set. What is wrong is an [*Error]
// without a position that names the variable.
func Env(prefix string) Option {
	return func(s *settings) { s.env = env{prefix, os.LookupEnv} }
}

// apply changes the config as far as the variables can be read.
func (e env) apply(cfg *admission.Config) []*Error {
	if e.lookup == nil {
		return nil
	}
	mode, _ := configShape.field("mode")
	errs := e.read("MODE", mode.shape.scalar, reflect.ValueOf(&cfg.Mode).Elem())
	every, wrong := e.limit("LIMIT")
	errs = append(errs, wrong...)

	lanes := maps.Clone(cfg.Lanes)
	if lanes == nil {
		lanes = map[string]admission.LaneConfig{}
	}
	_, unnamed := lanes[""]
	if _, named := lanes["default"]; !named && !unnamed {
		lanes["default"] = admission.LaneConfig{} // it is there in any case
	}
	changed := false
	for _, name := range slices.Sorted(maps.Keys(lanes)) {
		own, wrong := e.limit("LANE_" + variable(name) + "_LIMIT")
		errs = append(errs, wrong...)
		lane := lanes[name]
		lane.Limit = override(override(lane.Limit, every), own)
		changed = changed || lane != lanes[name]
		lanes[name] = lane
	}
	if changed {
		cfg.Lanes = lanes
	}
	return errs
}

// limit reads the variables of one limit; zero is what none of them says.
func (e env) limit(name string) (l admission.LimitConfig, errs []*Error) {
	for _, f := range []struct {
		name string
		into *int
	}{{"FIXED", &l.Fixed}, {"INITIAL", &l.Initial}, {"MIN", &l.Min}, {"MAX", &l.Max}} {
		errs = append(errs, e.read(name+"_"+f.name, &slots, reflect.ValueOf(f.into).Elem())...)
	}
	return l, errs
}

var slots = scalar{read: func(in scalarText, v reflect.Value) (string, string) {
	rule, hint := setInt(v, in, false)
	if rule == "" && v.Int() < 1 {
		v.SetInt(0)
		rule = "must be at least 1"
	}
	return rule, hint
}}

// override returns l with what over says instead.
func override(l, over admission.LimitConfig) admission.LimitConfig {
	if over.Fixed > 0 {
		return admission.LimitConfig{Fixed: over.Fixed}
	}
	l.Initial = cmp.Or(over.Initial, l.Initial)
	l.Min = cmp.Or(over.Min, l.Min)
	l.Max = cmp.Or(over.Max, l.Max)
	return l
}

func (e env) read(name string, s *scalar, v reflect.Value) []*Error {
	name = e.prefix + "_" + name
	text, ok := e.lookup(name)
	if !ok || text == "" {
		return nil
	}
	rule, hint := s.read(scalarText{text, true}, v)
	if rule == "" {
		return nil
	}
	return []*Error{{File: "environment", Path: name, Value: fmt.Sprintf("%.64q", text), Rule: rule, Hint: cmp.Or(hint, nearest(text, s.known))}}
}

// variable is a lane's name in that of a variable.
func variable(lane string) string {
	if lane == "" {
		lane = "default"
	}
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(lane))
}
