package promadmission_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/promadmission"
)

// The table in the package comment is what a scrape says: names, types, labels.
func TestReferenceIsTrue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, release := everything(t)
		defer release()
		reg := prometheus.NewPedanticRegistry()
		register(t, reg, c, promadmission.WithTopTenants(5))
		got := map[string]string{}
		for name, f := range scrape(t, reg) {
			labels := map[string]bool{}
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					labels[l.GetName()] = true
				}
			}
			if !labels["limiter"] || f.GetHelp() == "" {
				t.Errorf("%s: has no label limiter, or no help", name)
			}
			delete(labels, "limiter")
			got[name] = fmt.Sprint(strings.ToLower(f.GetType().String()), " ", slices.Sorted(maps.Keys(labels)))
		}
		doc, err := os.ReadFile("doc.go")
		if err != nil {
			t.Fatal(err)
		}
		want, units := map[string]string{}, map[string]string{}
		for _, row := range regexp.MustCompile(`(?m)^//\t([a-z_]+) +(counter|gauge|histogram) +(\S+(?: or \S)?) *(.*)$`).FindAllStringSubmatch(string(doc), -1) {
			labels := slices.DeleteFunc(strings.Split(row[4], ", "), func(l string) bool { return l == "" })
			slices.Sort(labels)
			want[row[1]], units[row[1]] = fmt.Sprint(row[2], " ", labels), row[3]
		}
		for name, w := range want {
			if got[name] != w {
				t.Errorf("%s: the table says %q, a scrape %q", name, w, got[name])
			}
			if strings.HasSuffix(name, "_seconds") != (units[name] == "seconds") {
				t.Errorf("%s: the table says %s", name, units[name])
			}
		}
		for name, g := range got {
			if want[name] == "" {
				t.Errorf("%s %s: is not in the table", name, g)
			}
		}
		families, _ := reg.Gather() // it was good a moment ago
		if problems, err := promlint.NewWithMetricFamilies(families).Lint(); err != nil || len(problems) > 0 {
			t.Errorf("lint: %v, %v", problems, err)
		}
	})
}

// A lane that is asked for four times what it can do sheds, and all the while its
// demand says so; when the load goes it falls back.
func TestDemandStaysAboveOneWhileItSheds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lane := pinned(10)
		lane.Gate.Law, lane.Deadline = "", 200*time.Millisecond
		c := start(t, admission.Config{Lanes: map[string]admission.LaneConfig{"default": lane}})
		reg := prometheus.NewPedanticRegistry()
		register(t, reg, c)
		for second := range 60 {
			for range 1000 { // of 40 ms on 10 slots, which is 250 a second
				go func() {
					_ = c.Do(t.Context(), admission.Request{}, func(context.Context) error {
						time.Sleep(40 * time.Millisecond)
						return nil
					})
				}()
				time.Sleep(time.Millisecond)
			}
			demand := series(scrape(t, reg)["demand"])["lane=default"]
			if second > 5 && (demand < 3 || demand > 5) {
				t.Errorf("second %d: demand is %v at four times the capacity", second, demand)
			}
		}
		time.Sleep(15 * time.Second)
		scrape(t, reg)
		time.Sleep(15 * time.Second)
		if demand := series(scrape(t, reg)["demand"])["lane=default"]; demand > 0.01 {
			t.Errorf("demand is %v when nobody comes", demand)
		}
	})
}

func TestBadArguments(t *testing.T) {
	c := start(t, admission.Config{})
	reg := prometheus.NewPedanticRegistry()
	for _, tc := range []struct {
		reg  prometheus.Registerer
		ctrl *admission.Controller
		opts []promadmission.Option
		want string
	}{
		{reg, nil, nil, "controller is nil"},
		{nil, c, nil, "registerer is nil"},
		{reg, c, []promadmission.Option{promadmission.WithName("")}, `name is ""`},
		{reg, c, []promadmission.Option{promadmission.WithName("a\xff")}, `name is "a\xff"`},
		{reg, c, []promadmission.Option{promadmission.WithTopTenants(17)}, "top tenants is 17: must be from 0 to 16"},
		{reg, c, []promadmission.Option{promadmission.WithTopTenants(-1)}, "top tenants is -1"},
		{reg, c, []promadmission.Option{nil}, ""},
		{reg, c, nil, "duplicate"},
	} {
		err := promadmission.Register(tc.reg, tc.ctrl, tc.opts...)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("error is %v, want %q", err, tc.want)
		}
	}
}
