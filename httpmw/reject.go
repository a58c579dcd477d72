package httpmw

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/spillway-go/spillway/admission"
)

// bodyGrace is how long the rest of a shed request's body may take. Enough for
// what is already under way, little against any caller's patience. bodyRest is
// how much of it is read: the server closes the connection over more than that.
const (
	bodyGrace = 50 * time.Millisecond
	bodyRest  = 256 << 10
)

var errExpired = &admission.ShedError{Reason: admission.ReasonDeadline, Stage: "deadline"}

// refuse answers r, which Admit returned err for.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	limitBody(w, r)
	shed, ok := errors.AsType[*admission.ShedError](err)
	if !ok {
		cause := context.Cause(r.Context())
		switch {
		case cause == nil || !errors.Is(err, cause):
			h.logOnce.Do(func() {
				h.cfg.Logger.Error("httpmw: invalid description of a request, answered 500; later ones are not logged",
					slog.Any("error", err), slog.String("route", route(h.cfg.Mux, r)))
			})
			internalError(w, r)
			return
		case cause == context.Canceled:
			return
		case errors.Is(cause, context.DeadlineExceeded):
			shed = errExpired
		default:
			shed = &admission.ShedError{Reason: admission.ReasonClosed, Stage: "context", Err: cause}
		}
	}
	if h.cfg.Reject != nil {
		h.cfg.Reject(w, r, shed)
		return
	}
	h.answer(w, r, shed)
}

// limitBody reads the rest of r's body on HTTP/1, for as long as bodyGrace. The
// server would read it anyway before it sends an answer, and for as long as the
// client pleases, so the deadline has to be set before the header is written. If
// the body does not end in time, the deadline stays: the server fails on it at
// once, answers and closes. If it ends, or a handler outside has read it already,
// the deadline is lifted, or it would hit the read by which the server watches
// for a client that leaves, and end the context of all requests to come on the
// connection. A client that waits for 100 Continue sends no body, and a read
// would invite it.
//
// Rejected: a header of Connection: close, which costs every client its
// connection (on HTTP/2 all of its requests), and full duplex, after which the
// next request on the connection fails.
func limitBody(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor != 1 || r.ContentLength == 0 || r.Body == nil || len(r.Header["Expect"]) > 0 {
		return
	}
	conn := http.NewResponseController(w)
	if conn.SetReadDeadline(time.Now().Add(bodyGrace)) != nil {
		return // hidden by a writer outside, see the package comment
	}
	if _, err := io.CopyN(io.Discard, r.Body, bodyRest); err == io.EOF {
		_ = conn.SetReadDeadline(time.Time{})
	}
}

// answer writes what the wire says of a shed request. Header values are shared
// slices put in place under canonical names, which spares a refusal most of what
// Set would allocate; nothing in net/http writes into them.
func (h *handler) answer(w http.ResponseWriter, r *http.Request, shed *admission.ShedError) {
	a := &answers[shed.Reason]
	hint := shed.RetryAfter
	if shed.Reason == admission.ReasonDeadline {
		hint = 0
	}
	header := w.Header()
	header["Cache-Control"] = noStore
	if hint > 0 {
		header["Retry-After"] = retryAfter(hint)
	}
	if name := h.cfg.NoRetryHeader; name != "" && (hint < 0 || a.status == http.StatusTooManyRequests) {
		header[name] = yes
	}
	if name := h.cfg.ReasonHeader; name != "" {
		header[name] = a.reason
	}
	body := &a.problem
	if !acceptsJSON(r.Header["Accept"]) {
		body = &a.text
	}
	header["Content-Type"] = body.contentType
	header["Content-Length"] = body.length
	w.WriteHeader(a.status)
	_, _ = w.Write(body.data) // whoever is gone by now need not know
}

func internalError(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
}
