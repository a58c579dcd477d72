package report

import (
	"encoding/json"
	"html"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

func TestHTMLNeedsNothingElse(t *testing.T) {
	page := written(t, made().WriteHTML)
	for _, outside := range []string{`\ssrc\s*=`, `\shref\s*=`, `url\(`, `@import`, `\bfetch\(`, `XMLHttpRequest`, `<link`, `<img`} {
		if m := regexp.MustCompile(outside).FindString(page); m != "" {
			t.Errorf("the page refers to something outside: %s", m)
		}
	}
	if !strings.Contains(page, "Permission is hereby granted") {
		t.Error("uPlot's licence is missing")
	}
}

// The policy must name exactly the scripts and styles that came out of the
// template, or a browser will not run them.
func TestHTMLPolicy(t *testing.T) {
	page := written(t, made().WriteHTML)
	meta := regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(page)
	if meta == nil {
		t.Fatal("no policy")
	}
	policy := html.UnescapeString(meta[1])
	blocks := regexp.MustCompile(`(?s)<(?:script|style)>(.*?)</(?:script|style)>`).FindAllStringSubmatch(page, -1)
	if len(blocks) != 4 {
		t.Fatalf("%d blocks, want 4", len(blocks))
	}
	for _, b := range blocks {
		if hash := cspHash(b[1]); !strings.Contains(policy, "'"+hash+"'") {
			t.Errorf("the policy does not allow the block that begins %.60q", b[1])
		}
	}
	if !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") {
		t.Errorf("policy is lax: %s", policy)
	}
}

func TestHTMLCarriesTheReport(t *testing.T) {
	want, err := made().prepared()
	if err != nil {
		t.Fatal(err)
	}
	if got := island(t, written(t, made().WriteHTML)); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func island(t *testing.T, page string) (r Report) {
	t.Helper()
	m := regexp.MustCompile(`(?s)<script type="application/json" id="report">(.*?)</script>`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal("no data in the page")
	}
	if err := json.Unmarshal([]byte(m[1]), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestHTMLSaysWhatWasLeftOut(t *testing.T) {
	r := made()
	if page := written(t, r.WriteHTML); strings.Contains(page, "Left out") {
		t.Error("nothing was left out, but the page says so")
	}
	r.Arms[1].Points[3].LeftOut = 0.4
	if page := written(t, r.WriteHTML); !strings.Contains(page, "Left out: 2.5% of the time, at 1 of 16 points, because the machine") {
		t.Error("the page does not say what was left out")
	}
}

func TestHTMLNamesStayText(t *testing.T) {
	r := made() // has a tenant that would like to be a script
	r.Note = "<img src=x onerror=alert(1)>"
	r.Arms[0].Points[0].Reasons["</script><script>alert('reason')</script>"] = 1
	r.Arms = append(r.Arms, Arm{Name: `"><script>alert('arm')</script>`, Points: r.Arms[0].Points})
	page := written(t, r.WriteHTML)
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "<img") {
		t.Error("a name became markup")
	}
	if !strings.Contains(page, "&lt;script&gt;alert(&#39;tenant&#39;)&lt;/script&gt;") {
		t.Error("the tenant's name is not shown")
	}
}

func TestHTMLOfLittle(t *testing.T) {
	one := made()
	one.Arms = one.Arms[1:]
	for name, c := range map[string]struct {
		report Report
		want   string
	}{
		"empty":                {Report{}, "Nothing was measured"},
		"no points":            {Report{Arms: []Arm{{Name: ArmOn}}}, "Nothing was measured"},
		"one arm":              {one, "97% of it as goodput with Spillway</h1>"},
		"some figures missing": {small(), "Goodput against offered load"},
	} {
		if !strings.Contains(written(t, c.report.WriteHTML), c.want) {
			t.Errorf("%s: page lacks %q", name, c.want)
		}
	}
}

func TestTenantsAreBounded(t *testing.T) {
	r := small()
	tenants := r.Arms[0].Points[0].Tenants
	for i := range 1000 {
		tenants["tenant-"+string(rune('a'+i%26))+strings.Repeat("x", i/26)] = Tally{Offered: i, Good: i}
	}
	g := r.Arms[0].tenantGrid()
	if len(g.Rows) != tenantRows || !strings.Contains(g.Title, "of 1001") {
		t.Errorf("%d rows under %q", len(g.Rows), g.Title)
	}
	if first := g.Rows[0].Cells[1]; first != "999" {
		t.Errorf("the first tenant asked for %s, want the most, 999", first)
	}
}

// Whatever a service calls its tiers, tenants, reasons and itself, all the
// formats can be written and read.
func FuzzNames(f *testing.F) {
	f.Add("on", "t1", "acme", "priority")
	f.Add("\x00\xff", "</script>", "<!--", "\u2028,\"\n")
	f.Fuzz(func(t *testing.T, arm, tier, tenant, reason string) {
		r := small()
		r.Arms[0].Name = arm + "."
		p := &r.Arms[0].Points[0]
		p.Tiers[tier], p.Tenants[tenant], p.Reasons[reason] = Tally{Offered: 1}, Tally{Offered: 1}, 1
		for name, write := range writers(r) {
			if err := write(io.Discard); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		texts(t, written(t, r.WriteSVG))
		page := written(t, r.WriteHTML)
		island(t, page)
		if n := strings.Count(page, "<script"); n != 3 {
			t.Errorf("%d scripts in the page, want 3", n)
		}
	})
}
