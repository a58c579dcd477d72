package report

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
)

var (
	//go:embed assets/page.html.tmpl
	pageTemplate string
	//go:embed assets/page.css
	pageCSS string
	//go:embed assets/page.js
	pageJS string
	//go:embed assets/uPlot.iife.min.js
	uplotJS string
	//go:embed assets/uPlot.min.css
	uplotCSS string
	//go:embed assets/uPlot.LICENSE
	uplotLicense string

	pageTmpl = template.Must(template.New("page").Parse(pageTemplate))
)

// page is what the template shows.
type page struct {
	Headline   string
	Note       string
	Conditions [][2]string
	Invalid    bool
	LeftOut    string
	Grids      []grid
	Tenants    []grid
	Report     Report // for the charts

	CSP     string
	Styles  []template.CSS
	Scripts []template.JS
	License string
}

// WriteHTML writes one page that needs nothing else: charts to be hovered and
// to switch lines on and off in, and the same figures as tables. Its content
// security policy lets only its own scripts and styles run and nothing be
// fetched, so that a report may be opened whoever sent it: names that came
// from a foreign service are text.
func (r Report) WriteHTML(w io.Writer) error {
	r, err := r.prepared()
	if err != nil {
		return err
	}
	p := page{
		Headline: r.headline(), Note: r.Note, Conditions: r.conditions(), Invalid: r.anyInvalid(), LeftOut: r.leftOut(),
		Grids: r.grids(), Report: r,
		CSP: fmt.Sprintf("default-src 'none'; script-src '%s' '%s'; style-src '%s' '%s'; base-uri 'none'; form-action 'none'",
			cspHash(uplotJS), cspHash(pageJS), cspHash(uplotCSS), cspHash(pageCSS)),
		Styles:  []template.CSS{template.CSS(uplotCSS), template.CSS(pageCSS)},
		Scripts: []template.JS{template.JS(uplotJS), template.JS(pageJS)},
		License: uplotLicense,
	}
	for _, a := range r.Arms {
		if g := a.tenantGrid(); len(g.Rows) > 0 {
			p.Tenants = append(p.Tenants, g)
		}
	}
	return pageTmpl.Execute(w, p)
}

func cspHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// tenantRows bounds the table of tenants; the JSON has all of them.
const tenantRows = 50

// tenantGrid shows how the tenants that asked for most fared at each load.
func (a Arm) tenantGrid() grid {
	offered := make(map[string]int)
	for _, p := range a.Points {
		for name, t := range p.Tenants {
			offered[name] += t.Offered
		}
	}
	tenants := names([]Arm{a}, tenantsOf)
	slices.SortStableFunc(tenants, func(x, y string) int { return cmp.Compare(offered[y], offered[x]) })
	g := grid{Title: fmt.Sprintf("By tenant, %s: share of its requests that were good", a.label())}
	if n := len(tenants); n > tenantRows {
		g.Title += fmt.Sprintf(" (the %d that asked for most, of %d)", tenantRows, n)
		tenants = tenants[:tenantRows]
	}
	g.Head = []string{"tenant", "offered"}
	for _, p := range a.Points {
		g.Head = append(g.Head, multiple(p.X)+"x")
	}
	for _, name := range tenants {
		cells := []string{name, strconv.Itoa(offered[name])}
		for _, p := range a.Points {
			t := p.Tenants[name]
			cells = append(cells, share(float64(t.Good), float64(t.Offered)))
		}
		g.Rows = append(g.Rows, gridRow{Lead: true, Cells: cells})
	}
	return g
}
