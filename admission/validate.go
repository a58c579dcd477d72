package admission

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spillway-go/spillway/scorecard"
)

var errNil = errors.New("admission: a nil Controller has no config")

const (
	defaultTenants = 10_000
	minDeadline    = time.Millisecond
	maxDeadline    = time.Hour
	maxMaxCost     = 1000
)

// WithDefaults returns a copy with every default filled in, as a [Controller]
// uses it; nothing in it is shared with c. The queue's capacity stays zero where
// it follows the limit.
func (c Config) WithDefaults() Config {
	lanes := map[string]LaneConfig{defaultLane: {}}
	for name, l := range c.Lanes {
		lanes[laneName(name)] = l
	}
	for name, l := range lanes {
		l.Limit = l.Limit.WithDefaults()
		capacity := l.Queue.Capacity // left out, it follows the limit
		l.Queue = l.Queue.WithDefaults()
		l.Queue.Capacity = capacity
		l.Gate = l.Gate.WithDefaults()
		lanes[name] = l
	}
	c.Lanes = lanes
	if c.Priorities.Default == 0 {
		c.Priorities.Default = T3.Priority()
	}
	if c.Priorities.UntrustedMax == 0 {
		c.Priorities.UntrustedMax = T3.Priority()
	}
	c.Priorities.Callers = maps.Clone(c.Priorities.Callers)
	c.Scorecard.Rules = slices.Clone(c.Scorecard.Rules)
	if c.Scorecard.MaxTenants == 0 {
		c.Scorecard.MaxTenants = defaultTenants
	}
	regulators := make(map[string]RegulatorConfig, len(c.Regulators))
	for name, r := range c.Regulators {
		r.Lanes = slices.Clone(r.Lanes)
		regulators[name] = r.withDefaults()
	}
	c.Regulators = regulators
	stages := make(map[string]StageConfig, len(c.Stages))
	for name, s := range c.Stages {
		stages[name] = StageConfig{Lanes: slices.Clone(s.Lanes)}
	}
	c.Stages = stages
	return c
}

// Validate reports everything that is wrong with the config, each with field,
// value and rule. Names of signals and guards are checked by [New], which knows them.
func (c Config) Validate() error {
	var v problems
	if c.Mode > Off {
		v.add("mode", c.Mode, "must be enforce, shadow or off")
	}
	_, plain := c.Lanes[defaultLane]
	if _, empty := c.Lanes[""]; empty && plain {
		v.add(`lanes[""]`, `lane "default"`, "must not be there twice")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Lanes)) {
		l, at := c.Lanes[name], fmt.Sprintf("lanes[%q]", name)
		v.name(at, name)
		if l.Mode > Off {
			v.add(at+".mode", l.Mode, "must be enforce, shadow or off")
		}
		v.join(at+".limit", l.Limit.Validate())
		v.join(at+".queue", l.Queue.Validate())
		v.join(at+".gate", l.Gate.Validate())
		if l.Deadline != 0 && (l.Deadline < minDeadline || l.Deadline > maxDeadline) {
			v.add(at+".deadline", l.Deadline, "must be between 1ms and 1h (0: measured)")
		}
		if l.MaxCost < 0 || l.MaxCost > maxMaxCost {
			v.add(at+".max_cost", l.MaxCost, fmt.Sprintf("must be from 1 to %d (0: off)", maxMaxCost))
		}
	}
	v.priorities(c.Priorities)
	if c.Scorecard.MaxTenants < 0 {
		v.add("scorecard.max_tenants", c.Scorecard.MaxTenants, "must not be negative")
	}
	if _, err := scorecard.New(c.Scorecard.Rules...); err != nil {
		v.join("scorecard", err)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Regulators)) {
		v.name(fmt.Sprintf("regulators[%q]", name), name)
		v.regulator(name, c.Regulators[name], c.Lanes)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Stages)) {
		v.lanes(fmt.Sprintf("stages[%q]", name), c.Stages[name].Lanes, c.Lanes)
	}
	return errors.Join(v...)
}

// FieldError is one thing that is wrong with a [Config]. What Validate, [Check],
// [New] and Apply return is a tree of these, joined.
type FieldError struct {
	Field string   // path of JSON names, such as lanes["read"].limit.min or scorecard.rules[2].cap
	Value string   // what it is; empty where the field as a whole is at fault
	Rule  string   // what it must be
	Known []string // what it could be, where only some names are: for a did-you-mean
}

// Error names field, value and rule.
func (e *FieldError) Error() string {
	if e.Value == "" {
		return "admission: " + e.Field + ": " + e.Rule
	}
	return "admission: " + e.Field + " is " + e.Value + ": " + e.Rule
}

// problems gathers errors.
type problems []error

func (v *problems) add(field string, value any, rule string) {
	*v = append(*v, &FieldError{Field: field, Value: fmt.Sprint(value), Rule: rule})
}

// join adds what a leaf says of its part of the config. The leaves do not know each
// other or us, so that what they say in parts is found by its method.
func (v *problems) join(at string, err error) {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range all.Unwrap() {
			v.join(at, err)
		}
	} else if e, ok := err.(interface {
		Wrong() (field, value, rule string)
	}); ok {
		field, value, rule := e.Wrong()
		*v = append(*v, &FieldError{Field: at + "." + field, Value: value, Rule: rule})
	} else if err != nil {
		*v = append(*v, &FieldError{Field: at, Rule: err.Error()})
	}
}

// name checks one that monitoring systems are told. They take UTF-8 alone; two names
// of which others are made would spoil each other's numbers.
func (v *problems) name(at, name string) {
	if !utf8.ValidString(name) {
		*v = append(*v, &FieldError{Field: at, Rule: "the name must be UTF-8"})
	}
}

// lanes checks names of lanes that stand at a path.
func (v *problems) lanes(at string, names []string, lanes map[string]LaneConfig) {
	var known []string // of all errors the same: there may be many, and many lanes
	for i, l := range names {
		if _, ok := lanes[l]; !ok && laneName(l) != defaultLane {
			if known == nil {
				known = append(slices.Sorted(maps.Keys(lanes)), defaultLane)
			}
			*v = append(*v, &FieldError{
				Field: fmt.Sprintf("%s.lanes[%d]", at, i), Value: fmt.Sprintf("%q", l),
				Rule: "must be a lane of the config", Known: known,
			})
		}
	}
}

func (v *problems) priorities(p PriorityConfig) {
	for _, f := range []struct {
		name string
		p    Priority
	}{{"default", p.Default}, {"untrusted_max", p.UntrustedMax}} {
		if f.p != 0 && !f.p.valid() {
			v.add("priorities."+f.name, uint16(f.p), "is no priority; use ParsePriority or NewPriority")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Callers)) {
		if !p.Callers[name].valid() {
			v.add(fmt.Sprintf("priorities.callers[%q]", name), uint16(p.Callers[name]), "is no priority; use ParsePriority or NewPriority")
		}
		if i := strings.IndexByte(name, '*'); name == "" || i >= 0 && i != len(name)-1 {
			v.add(fmt.Sprintf("priorities.callers[%q]", name), p.Callers[name], "the caller must be a name, or a prefix followed by *")
		}
	}
}

// valid tells whether a constructor made the priority.
func (p Priority) valid() bool {
	t := p >> cohortBits
	return t >= 1 && t <= NumTiers && p&0xff <= NumCohorts
}

// Check reports, like [New] but without starting anything, all that is wrong with
// cfg and opts together: also names of signals and guards that nobody brings in.
func Check(cfg Config, opts ...Option) error {
	o, err := gather(opts)
	return errors.Join(err, o.check(cfg))
}

// Check is what Apply would say of the config. It changes nothing.
func (c *Controller) Check(cfg Config) error {
	if c == nil {
		return errNil
	}
	return c.opts.check(cfg)
}

// check is the config's own check, and holds what the options brought against the
// names in it.
func (o *options) check(cfg Config) error {
	var v problems
	guards := 0
	for _, src := range o.sources {
		if src.guard != nil {
			guards++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Regulators)) {
		rc := cfg.Regulators[name]
		src, brought := o.sources[name]
		v.bound(name, rc, src, brought, slices.Sorted(maps.Keys(o.sources)))
		if kinds[rc.Kind].guard {
			guards++
		}
	}
	if guards > maxGuards {
		v.add("guards", guards, fmt.Sprintf("must be at most %d", maxGuards))
	}
	var stages []string
	for _, s := range o.stages {
		stages = append(stages, s.Name())
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Stages)) {
		if !slices.Contains(stages, name) {
			v = append(v, &FieldError{Field: fmt.Sprintf("stages[%q]", name), Rule: "no stage of that name was brought in", Known: stages})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.limits)) {
		_, ok := cfg.Lanes[name]
		if _, unnamed := cfg.Lanes[""]; !ok && name != defaultLane && !unnamed {
			v.add("limit's lane", fmt.Sprintf("%q", name), "is not a lane of the config")
		}
	}
	return errors.Join(cfg.Validate(), errors.Join(v...))
}
