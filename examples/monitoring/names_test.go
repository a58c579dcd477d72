package monitoring

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// family is a metric's labels, each with its values.
type family map[string][]string

// scraped are the metrics of a scrape under the names that expressions have for them.
func scraped(t *testing.T, registry *prometheus.Registry) map[string]family {
	t.Helper()
	gathered, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]family{}
	for _, f := range gathered {
		labels := family{"job": nil, "instance": nil} // which Prometheus adds
		for _, m := range f.Metric {
			for _, l := range m.Label {
				labels[l.GetName()] = append(labels[l.GetName()], l.GetValue())
			}
			if m.Histogram != nil {
				bucket := maps.Clone(labels)
				bucket["le"] = nil
				all[f.GetName()+"_bucket"] = bucket
			}
		}
		all[f.GetName()] = labels
	}
	return all
}

var (
	ranges    = regexp.MustCompile(`\[[^\]]*\]`)
	groupings = regexp.MustCompile(`\b(?:by|on|ignoring|without|group_left|group_right)\s*\(([^)]*)\)`)
	selectors = regexp.MustCompile(`([a-zA-Z_:][\w:]*)\s*\{([^}]*)\}`)
	matchers  = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"`)
	bare      = regexp.MustCompile(`\b[a-zA-Z_:][\w:]*\b\s*\(?`)
	words     = []string{"and", "or", "unless", "bool", "offset"}
)

// wrong says which metrics, labels and values of labels in an expression are none of the scrape's. The expression
// itself must be right: that is promtool's to say.
func wrong(expr string, scrape map[string]family) (found []string) {
	used := family{} // labels of all metrics in the expression
	metric := func(name string) family {
		f, ok := scrape[name]
		if !ok {
			found = append(found, "metric "+name)
		}
		maps.Copy(used, f)
		return f
	}
	var grouped []string
	rest := ranges.ReplaceAllString(expr, "")
	for _, g := range groupings.FindAllStringSubmatch(rest, -1) {
		grouped = append(grouped, strings.FieldsFunc(g[1], func(r rune) bool { return r == ',' || r == ' ' })...)
	}
	rest = groupings.ReplaceAllString(rest, "")
	for _, s := range selectors.FindAllStringSubmatch(rest, -1) {
		f := metric(s[1])
		for _, m := range matchers.FindAllStringSubmatch(s[2], -1) {
			values, ok := f[m[1]]
			if !ok && f != nil {
				found = append(found, "label "+m[1]+" of "+s[1])
			}
			for value := range strings.SplitSeq(m[2], "|") {
				if values != nil && value != ".*" && !slices.Contains(values, value) {
					found = append(found, "value "+value+" of label "+m[1])
				}
			}
		}
	}
	rest = selectors.ReplaceAllString(rest, "")
	for _, name := range bare.FindAllString(rest, -1) {
		if !strings.HasSuffix(name, "(") && !slices.Contains(words, strings.TrimSpace(name)) {
			metric(strings.TrimSpace(name))
		}
	}
	for _, label := range grouped {
		if _, ok := used[label]; !ok {
			found = append(found, "label "+label)
		}
	}
	return found
}

// Each metric, label and value in the dashboard and in the rules is one of a controller's.
func TestNamesAreTrue(t *testing.T) {
	registry := everything(t)
	scrape := scraped(t, registry)
	until(t, func() bool { // the last to come
		scrape = scraped(t, registry)
		return scrape["admission_gate_binding"] != nil && scrape["admission_shadow_rejections_total"] != nil
	})
	all := readDashboard(t).expressions()
	for _, r := range readRules(t) {
		all = append(all, expression{"alert " + r.Alert, r.Expr})
	}
	for _, e := range all {
		for _, w := range wrong(e.text, scrape) {
			t.Errorf("%s: %s: nobody has %s", e.where, e.text, w)
		}
	}
	variable := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)
	for _, v := range readDashboard(t).Templating.List {
		if v.Type != "query" {
			continue
		}
		m := variable.FindStringSubmatch(v.Query)
		if m == nil {
			t.Errorf("variable %s: query is %q", v.Name, v.Query)
			continue
		}
		expr := regexp.MustCompile(`\$\w+`).ReplaceAllString("count by ("+m[2]+") ("+m[1]+")", ".*")
		for _, w := range wrong(expr, scrape) {
			t.Errorf("variable %s: nobody has %s", v.Name, w)
		}
	}
}

// What wrong finds.
func TestWrong(t *testing.T) {
	scrape := map[string]family{"up_total": {"job": nil, "kind": {"a", "b"}}, "down": {"job": nil}}
	for expr, want := range map[string][]string{
		`sum by (kind) (rate(up_total{kind=~"a|b", job=~".*"}[5m])) / 2 > 0.5`: nil,
		`down <= down and down > 1e3`:                                          nil,
		`sum(rate(up{kind="a"}[5m]))`:                                          {"metric up"},
		`max(up_total) > dwn`:                                                  {"metric dwn"},
		`down{kind="a"}`:                                                       {"label kind of down"},
		`up_total{kind!~"a|c"}`:                                                {"value c of label kind"},
		`sum by (job, sort) (up_total)`:                                        {"label sort"},
		`topk(3, sum by (kind) (increase(down[1m] )))`:                         {"label kind"},
		`up_total * on (job) group_left (color) down`:                          {"label color"},
		`down unless up_total offset 5m or absent(none)`:                       {"metric none"},
	} {
		if got := wrong(expr, scrape); !slices.Equal(got, want) {
			t.Errorf("%s: found %q, want %q", expr, got, want)
		}
	}
}
