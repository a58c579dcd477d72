package scorecard

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestParseRule(t *testing.T) {
	tests := []struct {
		in   string
		want Rule
		text string // as it prints, if not as it was written
	}{
		{"acme: tenant:acme = 20", Rule{Name: "acme", Match: "tenant:acme", Cap: Cap{N: 20}}, ""},
		{"w: tenant:*;op:write = 20 / 5", Rule{Name: "w", Match: "tenant:*;op:write", Cap: Cap{N: 20}, UnderPressure: &Cap{N: 5}}, ""},
		{"w: tenant:* = 25% / 12.5% [shadow]", Rule{Name: "w", Match: "tenant:*", Cap: Cap{Share: .25}, UnderPressure: &Cap{Share: .125}, Shadow: true}, ""},
		{"  big one :tenant:a=b=0[shadow]", Rule{Name: "big one", Match: "tenant:a=b", Shadow: true}, "big one: tenant:a=b = 0 [shadow]"},
		{"none: tenant: = 100%", Rule{Name: "none", Match: "tenant:", Cap: Cap{Share: 1}}, ""},
		{"forbid: tenant:* = 0 / 0", Rule{Name: "forbid", Match: "tenant:*", UnderPressure: &Cap{}}, ""},
	}
	for _, tt := range tests {
		got, err := ParseRule(tt.in)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %+v, %v; want %+v", tt.in, got, err, tt.want)
		}
		text := tt.text
		if text == "" {
			text = tt.in
		}
		if got.String() != text {
			t.Errorf("%s prints as %s, want %s", tt.in, got, text)
		}
	}
}

func TestCapText(t *testing.T) {
	for text, want := range map[string]Cap{
		"0": {}, "20": {N: 20}, "25%": {Share: .25}, "7%": {Share: .07}, "100%": {Share: 1}, "0.5%": {Share: .005},
		"29%": {Share: .29}, "12.5%": {Share: .125}, "33.3%": {Share: .333},
	} {
		got, err := ParseCap(" " + text + " ")
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s: got %v (%+v), %v; want %+v", text, got, got, err, want)
		}
	}
	for _, text := range []string{"", "%", "-1", "+1", "1.5", "1e3", "101%", "1_0", "0x10", "inf%", "nan%", "1e1%", "-5%", "1.2.3%", "20 %", "99999999999999999999", "x"} {
		if got, err := ParseCap(text); err == nil || !strings.HasPrefix(err.Error(), "scorecard: cap ") {
			t.Errorf("%q: got %v, %v; want an error", text, got, err)
		}
	}
}

// Each fault is told with the rule's name, the field, its value and what it
// must be.
func TestValidate(t *testing.T) {
	tests := []struct {
		rule Rule
		want []string
	}{
		{Rule{Match: "tenant:*"}, []string{`rule with match "tenant:*": name "": must not be empty`}},
		{Rule{Name: "a:b", Match: "tenant:*"}, []string{`rule "a:b": name "a:b": must not contain a colon`}},
		{Rule{Name: " a", Match: "tenant:*"}, []string{`rule " a": name " a": must not begin or end with a space`}},
		{Rule{Name: "a\xff", Match: "tenant:*"}, []string{`rule "a\xff": name "a\xff": must be UTF-8`}},
		{Rule{Name: "r"}, []string{`rule "r": match "": must have a term such as tenant:*`}},
		{Rule{Name: "r", Match: "tenant"}, []string{`rule "r": match "tenant": term "tenant" must be key:value`}},
		{Rule{Name: "r", Match: "*"}, []string{`rule "r": match "*": term "*" must be key:value`}},
		{Rule{Name: "r", Match: ":x"}, []string{`rule "r": match ":x": term ":x" must be key:value`}},
		{Rule{Name: "r", Match: "tenant:*;"}, []string{`rule "r": match "tenant:*;": term "" must be key:value`}},
		{Rule{Name: "r", Match: "a*:x"}, []string{`rule "r": match "a*:x": key "a*" must not contain *`}},
		{Rule{Name: "r", Match: "t:*x"}, []string{`rule "r": match "t:*x": value "*x" must have * at its end only`}},
		{Rule{Name: "r", Match: "t:**"}, []string{`rule "r": match "t:**": value "**" must have * at its end only`}},
		{Rule{Name: "r", Match: "t:a;t:b"}, []string{`rule "r": match "t:a;t:b": key "t" must come once`}},
		{Rule{Name: "r", Match: "a:;b:;c:;d:;e:;f:;g:;h:"}, []string{`rule "r": match "a:;b:;c:;d:;e:;f:;g:;h:": must have at most 7 terms`}},
		{Rule{Name: "r", Match: "t:" + strings.Repeat("x", 257)}, []string{`: value of "t" must be at most 256 bytes, not 257`}},
		{Rule{Name: "r", Match: "t:*", Cap: Cap{N: -3}}, []string{`rule "r": cap "-3": must not be negative`}},
		{Rule{Name: "r", Match: "t:*", Cap: Cap{Share: 1.5}}, []string{`rule "r": cap "150%": share must be from 0% to 100%`}},
		{Rule{Name: "r", Match: "t:*", Cap: Cap{Share: math.NaN()}}, []string{`rule "r": cap "NaN%": share must be from 0% to 100%`}},
		{Rule{Name: "r", Match: "t:*", Cap: Cap{N: 3, Share: .5}}, []string{`rule "r": cap "50%": must be a number or a share, not also 3 requests`}},
		{Rule{Name: "r", Match: "t:*", Cap: Cap{N: 3}, UnderPressure: &Cap{N: 4}}, []string{`rule "r": under_pressure "4": must not be above cap "3"`}},
		{Rule{Name: "r", Match: "t:*", Cap: Cap{Share: .2}, UnderPressure: &Cap{Share: .3}}, []string{`rule "r": under_pressure "30%": must not be above cap "20%"`}},
		{Rule{Name: "r", Match: "t:*", UnderPressure: &Cap{Share: .3}}, []string{`rule "r": under_pressure "30%": must not be above cap "0"`}},
		{Rule{Name: "r", Match: "t:*", Cap: Cap{N: 3}, UnderPressure: &Cap{N: -4}}, []string{`rule "r": under_pressure "-4": must not be negative`}},
		{Rule{Name: "r", Match: "t:*", Cap: Cap{N: 3}, UnderPressure: &Cap{Share: .9}}, nil},
		{Rule{Name: "r", Match: " t : * ; op : write ", Cap: Cap{N: 3}, UnderPressure: &Cap{N: 3}}, nil},
		{Rule{Name: "r", Match: "t;u", Cap: Cap{N: -1}, UnderPressure: &Cap{N: -2}}, []string{
			`match "t;u": term "t" must be`, `match "t;u": term "u" must be`, `cap "-1": must`, `under_pressure "-2": must`,
		}},
	}
	for _, tt := range tests {
		checkFaults(t, tt.rule.Name+" "+tt.rule.Match, tt.rule.Validate(), tt.want)
	}
}

func TestNewFaults(t *testing.T) {
	good := Rule{Name: "a", Match: "t:*"}
	_, err := New(good, Rule{Name: "a", Match: "u:*"}, Rule{Name: "b", Match: "x"}, Rule{Match: "y"})
	checkFaults(t, "all at once", err, []string{
		`rule "a": name "a": must not be that of another rule`,
		`rule "b": match "x": term "x" must be key:value`,
		`rule with match "y": name "": must not be empty`, `term "y" must be key:value`,
	})

	var rules []Rule
	for _, key := range strings.Fields("a b c d e f g") {
		rules = append(rules, Rule{Name: key, Match: key + ":a*"})
	}
	rules = append(rules, Rule{Name: "s", Match: "a:*", Shadow: true})
	if _, err := New(append(rules, Rule{Name: "more", Match: "g:x"})...); err != nil {
		t.Errorf("8 groups: %v", err)
	}
	_, err = New(append(rules, Rule{Name: "more", Match: "h:*"})...)
	checkFaults(t, "9 groups", err, []string{`rule "more": match "h:*": must name the same keys as rules before it: there can be 8 sets of keys`})
}

// A rule behind one that counts all it would is refused; one behind any other is not.
func TestRulesThatCanNeverCount(t *testing.T) {
	for _, c := range []struct {
		rules []string
		idle  bool // the last
	}{
		{[]string{"a: tenant:* = 1", "x: tenant:acme = 1"}, true},
		{[]string{"a: tenant:* = 1", "x: tenant: = 1"}, true},
		{[]string{"a: tenant:* = 1", "x: tenant:free-* = 1"}, true},
		{[]string{"a: tenant:* = 1", "x: tenant:* = 2"}, true},
		{[]string{"a: tenant:acme = 1", "x: tenant:acme = 2"}, true},
		{[]string{"a: tenant:*;op:* = 1", "x: op:write;tenant:acme = 1"}, true},
		{[]string{"a: op:write;tenant:* = 1", "x: tenant:acme;op:write = 1"}, true},
		{[]string{"o: tenant:b* = 1", "a: tenant:a* = 1 [shadow]", "x: tenant:ab = 1 [shadow]"}, true},

		{[]string{"a: tenant:acme = 1", "x: tenant:* = 1"}, false},          // the exception comes first
		{[]string{"a: tenant:a* = 1", "x: tenant:b* = 1"}, false},           // others
		{[]string{"a: tenant:ab* = 1", "x: tenant:a* = 1"}, false},          // of more
		{[]string{"a: tenant:a = 1", "x: tenant:a* = 1"}, false},            // likewise
		{[]string{"a: tenant:* = 1", "x: tenant:acme;op:* = 1"}, false},     // other keys: both count
		{[]string{"a: tenant:*;op:r = 1", "x: tenant:a;op:w = 1"}, false},   // one term of two
		{[]string{"a: tenant:* = 1", "x: tenant:acme = 1 [shadow]"}, false}, // on trial: both count
		{[]string{"a: tenant:* = 1 [shadow]", "x: tenant:acme = 1"}, false},
		{[]string{"a: tenant:a;op:* = 1", "b: tenant:*;op:w = 1", "x: tenant:*;op:* = 1"}, false}, // together not all
	} {
		_, err := New(parsed(t, c.rules...)...)
		if want := ` must not stand after rule "a", which counts all`; (err != nil) != c.idle || c.idle && !strings.Contains(err.Error(), `rule "x": match "`) || c.idle && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error: %v", c.rules, err, c.idle)
		}
	}
}

func TestParseRuleFaults(t *testing.T) {
	form := `must be of the form "name: key:value;key:value = cap / cap under pressure [shadow]"`
	for in, want := range map[string][]string{
		"":                      {`scorecard: rule "": ` + form},
		"tenant = 3":            {`scorecard: rule "tenant = 3": ` + form},
		"r: tenant:*":           {`scorecard: rule "r: tenant:*": ` + form},
		"r: t:* = x / y":        {`rule "r": cap "x": must be a whole number`, `rule "r": under_pressure "y": must be`},
		"r: t:* = 1 / 2":        {`rule "r": under_pressure "2": must not be above cap "1"`},
		"r: t:* = 1 / 1 / 1":    {`rule "r": under_pressure "1 / 1": must be`},
		"r: t:* = 1 shadow":     {`rule "r": cap "1 shadow": must be`},
		": tenant:* = 1":        {`rule with match "tenant:*": name "": must not be empty`},
		"tenant:*;op:write = 1": {`rule "tenant": match "*;op:write": term "*" must be key:value`},
	} {
		_, err := ParseRule(in)
		checkFaults(t, in, err, want)
	}
}

// checkFaults checks that err has one line for each of want, which it contains.
func checkFaults(t *testing.T, what string, err error, want []string) {
	t.Helper()
	var lines []string
	if err != nil {
		lines = strings.Split(err.Error(), "\n")
	}
	if len(lines) != len(want) {
		t.Errorf("%s: %d faults, want %d: %v", what, len(lines), len(want), err)
		return
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, "scorecard: ") || !strings.Contains(line, want[i]) {
			t.Errorf("%s: fault %q, want %q", what, line, want[i])
		}
	}
}
