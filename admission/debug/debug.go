package debug

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/spillway-go/spillway/admission"
)

// Option changes what the page shows.
type Option func(*handler)

// WithRedactor has every name of a tenant and every key pass through redact before
// it is shown in any format: those of the last sheds, the values that the
// scorecard's rules count and those that their patterns name, and the actors of
// keyed signals. Texts in which such names may stand (what a stage, a guard or a
// keyed signal said, why a config was refused) are hidden whole. Names of callers,
// operations, lanes, rules and of all else that the config names are shown. redact
// is called from several goroutines at once; it may hash, shorten or drop. Nil hides
// nothing.
func WithRedactor(redact func(name string) string) Option {
	return func(h *handler) { h.redact = redact }
}

// Handler returns the page about ctrl, which may be nil or closed: it then says so.
// Serve it at any path, on a listener that only those on call can reach; below /debug/
// package httpmw exempts it from admission by itself. It answers GET and HEAD, starts
// no goroutine, and however many look asks the controller at most twice a second.
func Handler(ctrl *admission.Controller, opts ...Option) http.Handler {
	h := &handler{ctrl: ctrl}
	for _, opt := range opts {
		if opt != nil {
			opt(h)
		}
	}
	return h
}

type handler struct {
	ctrl   *admission.Controller
	redact redactor

	mu struct {
		sync.Mutex
		report report
	}
}

// fresh is how old a report may be that is shown once more.
const fresh = 500 * time.Millisecond

func (h *handler) report() report {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.mu.report.At) > fresh {
		h.mu.report = gather(h.ctrl, h.redact)
	}
	return h.mu.report
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", policy)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	query := r.URL.Query()
	report := h.report()
	var wrong error // with the question
	if asked(query) {
		report.Explain, wrong = explain(h.ctrl, query)
	}
	format := query.Get("format")
	switch {
	case format == "", format == "html":
		h.page(w, "page", view{report: report, Host: r.Host, Query: query, Wrong: wrong})
	case format == "live": // what the page's script asks for
		h.page(w, "live", view{report: report, Host: r.Host, Query: query, Wrong: wrong})
	case format != "json" && format != "text":
		http.Error(w, "format must be html, json or text", http.StatusBadRequest)
	case wrong != nil:
		http.Error(w, wrong.Error(), http.StatusBadRequest)
	case format == "json":
		writeJSON(w, report)
	default:
		header.Set("Content-Type", "text/plain; charset=utf-8")
		_ = report.writeText(w)
	}
}

// writeJSON says so where there is a number that JSON has not, rather than nothing.
func writeJSON(w http.ResponseWriter, r report) {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		http.Error(w, "the report cannot be written: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(text, '\n')) // to whom it cannot be sent it cannot be told
}
