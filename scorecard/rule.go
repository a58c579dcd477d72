package scorecard

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Rule caps the requests that match a pattern. The zero Rule is not valid.
type Rule struct {
	// Name is for people: it stands in errors, counts and metrics. It must be
	// UTF-8, must not be empty, contain a colon, or begin or end with a space, and
	// no two rules of a Card may share it.
	Name string `json:"name"`

	// Match is the pattern: up to 7 terms key:value joined by ";", which means
	// and. A value that ends in * stands for each distinct value that begins
	// so, every one with a counter of its own. Any other value, also the empty
	// one, stands for itself. A key comes once, a value is at most 256 bytes,
	// and spaces around keys and values are ignored. In a value the first
	// colon counts, further ones belong to the value.
	Match string `json:"match"`

	// Cap is how many requests each counter of the rule allows.
	Cap Cap `json:"cap"`

	// UnderPressure, if not nil, is a second cap that holds as well while the
	// service sheds (see [Card.SetPressed]). It must not be above Cap where
	// both are numbers or both are shares.
	UnderPressure *Cap `json:"under_pressure,omitempty"`

	// Shadow puts the rule on trial: it refuses nothing and counts what it would
	// have refused, see [Count]. Such a request takes no place under the rule, so
	// that the numbers are those the rule would come to if it were enforced, and
	// callers came and stayed as they do now.
	Shadow bool `json:"shadow,omitempty"`
}

// ruleForm is how a rule is written.
const ruleForm = "name: key:value;key:value = cap / cap under pressure [shadow]"

const shadowMark = "[shadow]"

// ParseRule parses a rule written on one line,
//
//	name: match = cap
//	name: match = cap / cap under pressure
//	name: match = cap / cap under pressure [shadow]
//
// such as "writes: tenant:*;op:write = 20 / 5". The name ends at the first
// colon and the match at the last "=". Caps are as in [ParseCap]; spaces
// around every part are ignored. The rule returned is valid.
func ParseRule(s string) (Rule, error) {
	name, rest, ok := strings.Cut(s, ":")
	eq := strings.LastIndexByte(rest, '=')
	if !ok || eq < 0 {
		return Rule{}, fmt.Errorf("scorecard: rule %.80q: must be of the form %q", s, ruleForm)
	}
	r := Rule{Name: strings.TrimSpace(name), Match: strings.TrimSpace(rest[:eq])}
	caps, shadow := strings.CutSuffix(strings.TrimSpace(rest[eq+1:]), shadowMark)
	r.Shadow = shadow
	calm, pressed, two := strings.Cut(caps, "/")

	var errs []error
	read := func(field, text string) Cap {
		text = strings.TrimSpace(text)
		c, ok := parseCap(text)
		if !ok {
			errs = append(errs, fmt.Errorf("scorecard: rule %.80q: %s %.40q: %s", r.Name, field, text, capForm))
		}
		return c
	}
	r.Cap = read("cap", calm)
	if two {
		c := read("under_pressure", pressed)
		r.UnderPressure = &c
	}
	if errs != nil {
		return Rule{}, errors.Join(errs...)
	}
	if err := r.Validate(); err != nil {
		return Rule{}, err
	}
	return r, nil
}

// String returns the form that ParseRule reads.
func (r Rule) String() string {
	s := r.Name + ": " + r.Match + " = " + r.Cap.String()
	if r.UnderPressure != nil {
		s += " / " + r.UnderPressure.String()
	}
	if r.Shadow {
		s += " " + shadowMark
	}
	return s
}

// Validate returns nil or all that is wrong with the rule, joined, each with
// the rule's name, the field, its value and what it must be.
func (r Rule) Validate() error {
	_, faults := r.compile(-1)
	return errors.Join(faults...)
}

// compile checks the rule, which stands at index at of its card, and returns the
// terms of its pattern.
func (r Rule) compile(at int) (terms []term, faults []error) {
	fail := func(field string, value any, must string) {
		faults = append(faults, &fault{r, at, field, fmt.Sprintf("%.80q", value), must})
	}
	switch {
	case r.Name == "":
		fail("name", "", "must not be empty")
	case strings.Contains(r.Name, ":"):
		fail("name", r.Name, "must not contain a colon")
	case strings.TrimSpace(r.Name) != r.Name:
		fail("name", r.Name, "must not begin or end with a space")
	case !utf8.ValidString(r.Name):
		fail("name", r.Name, "must be UTF-8")
	}
	terms, bad := parseMatch(r.Match)
	for _, f := range bad {
		fail("match", r.Match, f)
	}
	if f := r.Cap.fault(); f != "" {
		fail("cap", r.Cap, f)
	}
	if up := r.UnderPressure; up != nil {
		if f := up.fault(); f != "" {
			fail("under_pressure", up, f)
		} else if r.Cap.fault() == "" && up.above(r.Cap) {
			fail("under_pressure", up, fmt.Sprintf("must not be above cap %q", r.Cap))
		}
	}
	return terms, faults
}

// fault is one thing that is wrong with a rule.
type fault struct {
	rule               Rule
	at                 int // its index; -1: it stands alone
	field, value, must string
}

func (f *fault) Error() string {
	if f.rule.Name == "" {
		return fmt.Sprintf("scorecard: rule with match %.80q: %s %s: %s", f.rule.Match, f.field, f.value, f.must)
	}
	return fmt.Sprintf("scorecard: rule %.80q: %s %s: %s", f.rule.Name, f.field, f.value, f.must)
}

// Wrong tells the fault in parts, for those who know where the rules were written.
func (f *fault) Wrong() (field, value, rule string) {
	field, rule = f.field, f.must
	if f.at >= 0 {
		field = fmt.Sprintf("rules[%d].%s", f.at, f.field)
	}
	if f.rule.Name != "" && f.field != "name" {
		rule += fmt.Sprintf(" (rule %.80q)", f.rule.Name)
	}
	return field, f.value, rule
}
