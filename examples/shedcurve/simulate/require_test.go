package simulate

import (
	"strings"
	"testing"
)

func TestRequirements(t *testing.T) {
	all, err := parseRequirements(" goodput>=0.95 t1>99%,p99<=50ms\nsettle<2s ")
	if err != nil || len(all) != 4 {
		t.Fatal(all, err)
	}
	for i, want := range []requirement{
		{op: ">=", value: 0.95, text: "goodput>=0.95"},
		{op: ">", value: 0.99, text: "t1>99%"},
		{op: "<=", value: 50, text: "p99<=50ms"},
		{op: "<", value: 2000, text: "settle<2s"},
	} {
		got := all[i]
		if got.op != want.op || got.value != want.value || got.text != want.text || !strings.HasPrefix(want.text, got.measure.name) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	if none, err := parseRequirements(" "); err != nil || len(none) != 0 {
		t.Error(none, err)
	}
	for text, want := range map[string]string{
		"goodput":                `term 1, "goodput": must be a name, one of >= <= > <, and a value, such as goodput>=0.95, without spaces`,
		"p99<=1s goodput>= 0.95": `term 2, "goodput>=": value "" must be a share`,
		"godput>=0.9":            `term 1, "godput>=0.9": name "godput" must be one of goodput, p50, p99, p999, t0, t1, t2, t3, t4, t5, shed, inversion, settle, regret`,
		"p99<=50":                `value "50" must be a duration from 0s to 1h with its unit, such as 50ms`,
		"p99<=-1ms":              `value "-1ms" must be a duration`,
		"goodput>=95":            `value "95" must be a share from 0 to 1 or from 0% to 100%, such as 0.95 or 95%`,
		"t1>=NaN":                `value "NaN"`,
		"t1=>0.9":                `name "t1=" must be one of`,
		"t6>=1 <1":               `term 2, "<1": name ""`,
	} {
		if _, err := parseRequirements(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want in it %s", text, err, want)
		}
	}
}

// Each comparison is right at its edge, and what was not measured is not met.
func TestUnmet(t *testing.T) {
	half := 0.5
	rows := []row{{Scenario: "s", Config: "c", GoodputShare: &half, Shed: 0.25}}
	for text, want := range map[string]string{
		"goodput>=0.5 goodput<=0.5 shed<0.26": "",
		"goodput>50%":                         "s with c: goodput>50% is not met: goodput is 50.00%",
		"goodput>0.5":                         "s with c: goodput>0.5 is not met: goodput is 0.5000",
		"shed<25%,t1>=0":                      "s with c: shed<25% is not met: shed is 25.00%\ns with c: t1>=0 is not met: t1 is not measured",
		"settle<=1h":                          "s with c: settle<=1h is not met: settle is not measured",
	} {
		required, err := parseRequirements(text)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := unmet(rows, required); err != nil {
			got = strings.TrimPrefix(err.Error(), "requirements:\n")
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// No text panics, and what parses comes back the same from its own terms.
func FuzzRequirements(f *testing.F) {
	f.Add("goodput>=0.95 t1>=99% p99<=50ms")
	f.Add("settle<2s,shed>0 <=")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := parseRequirements(text)
		if err != nil {
			if all != nil {
				t.Fatal("terms with an error")
			}
			return
		}
		var terms []string
		for _, r := range all {
			if r.met(r.value) != strings.HasSuffix(r.op, "=") {
				t.Fatalf("%s at its edge", r.text)
			}
			terms = append(terms, r.text)
		}
		again, err := parseRequirements(strings.Join(terms, ","))
		if err != nil || len(again) != len(all) {
			t.Fatalf("%q: %v", terms, err)
		}
	})
}
