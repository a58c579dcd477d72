package simulate

import (
	"bytes"
	"strings"
	"testing"
)

// Over several scenarios each config has a summary of its own; over one there is none.
func TestASummaryPerConfig(t *testing.T) {
	died := func(config string, share float64) row {
		return row{Scenario: "s", Config: config, DiedInQueue: share}
	}
	for name, c := range map[string]struct {
		rows []row
		want []string // of died
	}{
		"one config":              {[]row{died("now", 0.1), died("now", 0.3)}, []string{"died in queue %: median 20.0, mean 20.0, worst 30.0"}},
		"one scenario":            {[]row{died("now", 0.1)}, nil},
		"two configs":             {[]row{died("now", 0.1), died("new", 0.5), died("now", 0.3), died("new", 0.7)}, []string{"now: died in queue %: median 20.0, mean 20.0, worst 30.0", "new: died in queue %: median 60.0, mean 60.0, worst 70.0"}},
		"two configs, a scenario": {[]row{died("now", 0.1), died("new", 0.5)}, nil},
		"none":                    {nil, nil},
	} {
		var out bytes.Buffer
		if err := writeTable(&out, c.rows); err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(out.String()) {
			if strings.Contains(line, "died in queue") {
				got = append(got, strings.TrimSpace(line))
			}
		}
		if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s: got\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}
