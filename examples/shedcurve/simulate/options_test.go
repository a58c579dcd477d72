package simulate

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestUsage(t *testing.T) {
	dir := t.TempDir()
	good, bad := write(t, dir, "good.json", scenario), write(t, dir, "bad.json", `{"nmae": 1}`)
	config := write(t, dir, "config.txt", `{"lanse": {}}`)
	pinned := write(t, dir, "pinned.txt", `{"lanes": {"default": {"limit": {"fixed": 3}}}}`)
	for _, c := range []struct {
		args []string
		want []string
	}{
		{nil, []string{"-scenario is missing"}},
		{[]string{"-nonsense"}, []string{"flag provided but not defined"}},
		{[]string{"-scenario", filepath.Join(dir, "none")}, []string{"none: no such file"}},
		{[]string{"-scenario", t.TempDir()}, []string{"has no .json files"}},
		{[]string{"-scenario", bad}, []string{`unknown field "nmae"`, "bad.json"}},
		{[]string{"-scenario", good, "-config", config}, []string{`lanse: unknown field`, `did you mean "lanes"?`, "config.txt:1:"}},
		{[]string{"-scenario", good, "more"}, []string{`unexpected argument "more"`}},
		{
			[]string{"-scenario", good, "-seeds", "0", "-front", "back", "-gate", "wooden", "-limit", "-2"},
			[]string{"-seeds is 0: must be between 1 and 1000", `-front is "back"`, `gate.law is "wooden"`, "limit.fixed is -2"},
		},
		{[]string{"-scenario", good, "-law", "magic"}, []string{`limit.law is "magic": must be one of octave`}},
		{[]string{"-scenario", good, "-law", "vegas", "-limit", "9"}, []string{"-limit is 9: cannot be together with -law"}},
		{[]string{"-scenario", good, "-config", pinned, "-config", pinned}, []string{"must be given once"}},
		{[]string{"-scenario", good, "-law", "all", "-config", pinned, "-config", config, "-require", "p99<1s"}, []string{"must be one with -law all", "-require is \"p99<1s\": cannot be together"}},
		{[]string{"-scenario", good, "-require", "p99<=50 t1>99%"}, []string{`-require: term 1, "p99<=50": value "50" must be a duration`}},
		{[]string{"-scenario", good, "-require", ""}, []string{`-require is "": must have a term, such as goodput>=0.95`}},
		{[]string{"-scenario", good, "-require", "regret<5%"}, []string{`-require is "regret<5%": regret needs -oracle`}},
		{[]string{"-scenario", good, "-law", "all", "-out", "x"}, []string{"-out is x: cannot be together with -law all"}},
		{[]string{"-scenario", good, "-law", "all", "-config", pinned}, []string{"a pinned limit takes no initial, min, max or law"}},
	} {
		status, out, errs := run(t, c.args...)
		if status != exitUsage || out != "" {
			t.Errorf("%v: status %d, stdout %q", c.args, status, out)
		}
		for _, want := range c.want {
			if !strings.Contains(errs, want) {
				t.Errorf("%v: got\n%swant in it %q", c.args, errs, want)
			}
		}
	}
	if status, _, _ := run(t, "-help"); status != exitOK {
		t.Errorf("-help: status %d", status)
	}
}
