package httpmw

import (
	"net/http"
	"strings"

	"github.com/spillway-go/spillway/admission"
)

// IsProbe is the default of [Config.Exempt]: GET and HEAD of /healthz, /readyz,
// /livez and /metrics exactly, and of all below /debug/. A path is compared as
// it was sent: one that a router may resolve to another (escapes it did not
// need, dot segments, empty segments) is no probe, so nothing else passes for
// one. In a program that serves its users below these names, set Exempt.
func IsProbe(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	switch p := r.URL.Path; p {
	case "/healthz", "/readyz", "/livez", "/metrics":
		return r.URL.RawPath == ""
	default:
		return strings.HasPrefix(p, "/debug/") && r.URL.RawPath == "" &&
			!strings.Contains(p, "/.") && !strings.Contains(p, "//")
	}
}

// describe says to the controller what r is: what Classify knows, then what the
// server knows, then what the headers claim.
func (h *handler) describe(r *http.Request) admission.Request {
	var req admission.Request
	if h.cfg.Classify != nil {
		req = h.cfg.Classify(r)
	}
	if req.Op == "" {
		req.Op = route(h.cfg.Mux, r)
	}
	switch {
	case req.Bytes != 0:
	case r.ContentLength < 0:
		req.Bytes = h.cfg.UnsizedBytes
	default:
		// No claim but the framing: the server reads no more than that.
		req.Bytes = r.ContentLength
	}
	if h.claims {
		h.cfg.Headers.fill(h.ctrl, r, &req)
	}
	return req
}

// route is the pattern that r matches.
func route(mux *http.ServeMux, r *http.Request) string {
	pattern := r.Pattern
	if pattern == "" && mux != nil {
		_, pattern = mux.Handler(r)
	}
	if pattern == "" {
		return "other" // one name for all: paths are without end
	}
	return pattern
}

// describe tells whether any header at all may describe a request.
func (h *Headers) describe() bool {
	return h.Urgency || h.Priority != "" || h.Tenant != "" || h.Caller != "" || h.Attempt != ""
}

// fill adds what the headers of r claim and the sender may claim, wherever req
// is still empty.
func (h *Headers) fill(ctrl *admission.Controller, r *http.Request, req *admission.Request) {
	trusted := h.Trusted != nil && h.Trusted(r)
	if req.Priority == 0 {
		req.Priority = h.priority(r.Header)
		if !trusted && req.Priority != 0 {
			req.Priority = ctrl.Untrusted(req.Priority)
		}
	}
	if !trusted {
		return
	}
	if req.Tenant == "" {
		req.Tenant = single(r.Header, h.Tenant)
	}
	if req.Caller == "" {
		req.Caller = single(r.Header, h.Caller)
	}
	if req.Attempt == 0 {
		req.Attempt = attempt(single(r.Header, h.Attempt))
	}
}

// single is the value of a header that is there once, else "": of two claims
// that contradict each other neither can be believed.
func single(header http.Header, name string) string {
	if v := header[name]; len(v) == 1 {
		return v[0]
	}
	return ""
}

// attempt reads a count of tries, 1 for the first, as retries before this one.
func attempt(s string) int {
	const most = 6 // digits
	if n, ok := digits(s, most); ok && n > 0 {
		return int(n - 1)
	}
	return 0
}

// digits reads 1 to most decimal digits and nothing else. most is below 19.
func digits(s string, most int) (n int64, ok bool) {
	if s == "" || len(s) > most {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int64(s[i]-'0')
	}
	return n, true
}
