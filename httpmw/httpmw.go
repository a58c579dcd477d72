package httpmw

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	"github.com/spillway-go/spillway/admission"
)

// New returns middleware that asks ctrl about every request. It starts nothing
// and holds nothing: ctrl stays its owner's to close, several handlers may share
// it, and the handlers it makes are as safe for concurrent use as those inside.
//
// A nil ctrl admits all: the inner handler is returned as it is. An inner
// handler that is nil answers 500 and is logged when it is wrapped. An invalid
// cfg is logged too, see [Config.Validate].
func New(ctrl *admission.Controller, cfg Config) func(http.Handler) http.Handler {
	cfg, err := cfg.checked()
	if err != nil {
		cfg.Logger.Error("httpmw: invalid config, fields at fault are ignored", slog.Any("error", err))
	}
	made := handler{
		ctrl: ctrl, cfg: cfg, claims: cfg.Headers.describe(), deadlines: newDeadlines(cfg.Headers), logOnce: new(sync.Once),
		load: new(loadReport),
	}
	return func(next http.Handler) http.Handler {
		if isNil(next) {
			cfg.Logger.Error("httpmw: the handler to wrap is nil, all requests will be answered 500")
			next = http.HandlerFunc(internalError)
		}
		if ctrl == nil {
			return next
		}
		h := made
		h.next = next
		return &h
	}
}

// Wrap is New(ctrl, Config{})(h): h protected by ctrl, with all defaults.
func Wrap(ctrl *admission.Controller, h http.Handler) http.Handler {
	return New(ctrl, Config{})(h)
}

// isNil finds the two nils that would panic at the first request, not now.
func isNil(h http.Handler) bool {
	f, ok := h.(http.HandlerFunc)
	m, isMux := h.(*http.ServeMux)
	return h == nil || ok && f == nil || isMux && m == nil
}

// handler is one wrapped handler.
type handler struct {
	ctrl      *admission.Controller
	cfg       Config // checked
	claims    bool   // some header describes requests
	deadlines deadlines
	logOnce   *sync.Once // of all handlers that one New made
	load      *loadReport
	next      http.Handler
}

var exempt = admission.Request{Priority: admission.Exempt}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.cfg.Exempt(r) {
		// For the count alone: a closed controller is no reason to fail a probe.
		_, _ = h.ctrl.Admit(r.Context(), exempt)
		h.next.ServeHTTP(w, r)
		return
	}
	if h.cfg.LoadHeader {
		h.load.put(w.Header(), h.ctrl)
	}
	ctx := r.Context()
	if d, ok := h.deadlines.of(r.Header); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
		r = r.WithContext(ctx)
	}
	req := h.describe(r)
	stream := h.cfg.Stream != nil && h.cfg.Stream(r)
	hold := stream && h.cfg.StreamLane != ""
	if hold {
		req.Lane, req.Stream = h.cfg.StreamLane, true
	}
	ticket, err := h.ctrl.Admit(ctx, req)
	switch {
	case err != nil:
		h.refuse(w, r, err)
	case ticket == admission.Ticket{}:
		// Nothing to give back or to report: spare the handler our writer.
		h.next.ServeHTTP(w, r)
	default:
		h.run(w, r, &response{ticket: ticket, stream: stream, hold: hold})
	}
}
