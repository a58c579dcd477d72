package debug

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // for the assets
	"encoding/base64"
	"html/template"
	"net/http"
	"net/url"
	"time"

	"github.com/spillway-go/spillway/admission"
)

var (
	//go:embed assets/page.html
	pageHTML string
	//go:embed assets/page.css
	pageCSS string
	//go:embed assets/page.js
	pageJS string

	pages = template.Must(template.New("").Funcs(template.FuncMap{
		"number": number, "seconds": seconds, "percent": percent, "clock": clock, "age": age,
		"lane": laneView, "used": func(l laneReport) []tierReport { return l.usedTiers() }, "would": would, "css": func() template.CSS { return template.CSS(pageCSS) },
		"js":      func() template.JS { return template.JS(pageJS) },
		"meaning": func(r reasonReport) string { return meaning[r.why] },
	}).Parse(pageHTML))

	// policy lets the page run its own script and style, known by their hashes, ask
	// the server it came from, and nothing else.
	policy = "default-src 'none'; script-src " + hash(pageJS) + "; style-src " + hash(pageCSS) +
		"; img-src data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

// would completes "it would".
func would(v admission.Verdict) string {
	switch v {
	case admission.VerdictRun:
		return "run at once"
	case admission.VerdictWait:
		return "wait in the queue"
	case admission.VerdictShed:
		return "be shed"
	case admission.VerdictInvalid:
		return "be refused as invalid"
	}
	return v.String()
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// view is what the template is given.
type view struct {
	report
	Host  string
	Query url.Values
	Wrong error // with the question in Query
}

// laneView is what the template of a lane is given; Terms are those of the signal that
// binds, if it is one.
func laneView(v view, l laneReport) map[string]any {
	m := map[string]any{"Lane": l, "Charts": l.charts(v.At), "Terms": nil}
	for _, s := range v.Signals {
		if s.Name == l.Binding {
			m["Terms"] = s
		}
	}
	return m
}

func (v view) SignalChart(s signalReport) chart { return s.chart(v.At) }
func (v view) Time() string                     { return v.At.UTC().Format(time.TimeOnly) + " UTC" }

// Asked is a field of the form as it was sent.
func (v view) Asked(field string) string { return printable(v.Query.Get(field)) }

// Lead is the sentence on top, Rest what follows it.
func (v view) Lead() statement   { return v.Summary[0] }
func (v view) Rest() []statement { return v.Summary[1:] }

func (v view) Changed() (changed []setting) {
	for _, s := range v.Config.Settings {
		if s.Changed {
			changed = append(changed, s)
		}
	}
	return changed
}

func (h *handler) page(w http.ResponseWriter, name string, v view) {
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, v); err != nil {
		http.Error(w, "the page cannot be made: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes())
}
