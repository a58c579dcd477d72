package httpmw_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/httpmw"
)

// shedder wraps a handler that must not run: all is shed for e.
func shedder(t testing.TB, e *admission.ShedError, cfg httpmw.Config) http.Handler {
	ctrl := control(t, admission.Config{}, watched(&spy{Verdict: shedding(e)}))
	return httpmw.New(ctrl, cfg)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a shed request was served")
	}))
}

func TestRefusalByDefaultSendsNoDiagnosis(t *testing.T) {
	w := get(shedder(t, &admission.ShedError{Reason: admission.ReasonKeyed}, httpmw.Config{}), "/", "Accept", "text/html")
	if got, want := w.Body.String(), "429 Too Many Requests: keyed\n"; got != want {
		t.Errorf("body %q, want %q", got, want)
	}
	if got := w.Header().Get("Content-Type"); got != "text/plain; charset=utf-8" {
		t.Errorf("content type %q", got)
	}
	for name := range w.Header() {
		switch name {
		case "Cache-Control", "Content-Type", "Content-Length", "Retry-After":
		default:
			t.Errorf("header %s: %s", name, w.Header().Get(name))
		}
	}
}

func TestRejectReplacesAll(t *testing.T) {
	e := &admission.ShedError{Reason: admission.ReasonEvicted}
	var seen *admission.ShedError
	w := get(shedder(t, e, httpmw.Config{Reject: func(w http.ResponseWriter, _ *http.Request, e *admission.ShedError) {
		seen = e
		w.WriteHeader(http.StatusTeapot)
	}}), "/")
	if w.Code != http.StatusTeapot || len(w.Header()) != 0 || w.Body.Len() != 0 {
		t.Errorf("answer is %d %v %s", w.Code, w.Header(), w.Body)
	}
	if seen == nil || seen.Reason != admission.ReasonEvicted {
		t.Errorf("error is %v", seen)
	}
}

func TestInvalidDescriptionIsAnswered500AndLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	for name, r := range map[string]admission.Request{
		"unknown lane":  {Lane: "nowhere"},
		"negative cost": {Cost: -1},
	} {
		log.Reset()
		h := httpmw.New(control(t, admission.Config{}), httpmw.Config{
			Classify: func(*http.Request) admission.Request { return r },
			Logger:   slog.New(slog.NewTextHandler(&log, nil)),
		})(answering(200))
		for range 3 {
			if w := get(h, "/"); w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "nowhere") {
				t.Errorf("%s: answer %d %s", name, w.Code, w.Body)
			}
		}
		if n := strings.Count(log.String(), "\n"); n != 1 {
			t.Errorf("%s: %d lines logged, want 1:\n%s", name, n, log.String())
		}
	}
}

func TestNilControllerAndNilHandler(t *testing.T) {
	quiet := httpmw.Config{Logger: slog.New(slog.DiscardHandler)}
	if w := get(httpmw.Wrap(nil, answering(http.StatusAccepted)), "/"); w.Code != http.StatusAccepted {
		t.Errorf("nil controller: %d", w.Code)
	}
	ctrl := control(t, admission.Config{})
	for name, h := range map[string]http.Handler{
		"nil": nil, "nil func": http.HandlerFunc(nil), "nil mux": (*http.ServeMux)(nil),
	} {
		if w := get(httpmw.New(ctrl, quiet)(h), "/"); w.Code != http.StatusInternalServerError {
			t.Errorf("%s: %d", name, w.Code)
		}
		if w := get(httpmw.New(nil, quiet)(h), "/"); w.Code != http.StatusInternalServerError {
			t.Errorf("%s, nil controller: %d", name, w.Code)
		}
	}
}

// Silence would be sent as an empty 200, so it is kept for clients that are gone.
func TestContextThatEndsBeforeAdmission(t *testing.T) {
	ended := errors.New("base context ended")
	for name, c := range map[string]struct {
		end    func() context.Context
		want   int
		reason string
	}{
		"client left": {func() context.Context {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			return ctx
		}, 0, ""},
		"server ends": {func() context.Context {
			ctx, cancel := context.WithCancelCause(context.Background())
			cancel(ended)
			return ctx
		}, 503, "closed"},
		"deadline passed": {func() context.Context {
			ctx, cancel := context.WithTimeout(context.Background(), 0)
			cancel()
			return ctx
		}, 503, "deadline"},
	} {
		t.Run(name, func(t *testing.T) {
			h := httpmw.Wrap(control(t, only(pinned(1, 1))), answering(200))
			w := httptest.NewRecorder()
			w.Code = 0
			h.ServeHTTP(w, httptest.NewRequestWithContext(c.end(), "GET", "/", nil))
			if w.Code != c.want || !strings.Contains(w.Body.String(), c.reason) {
				t.Errorf("answer %d %s, want %d with %q", w.Code, w.Body, c.want, c.reason)
			}
		})
	}
}

// closed sheds everything, at no cost of a stage.
func closed(t testing.TB) http.Handler {
	ctrl := control(t, admission.Config{})
	h := httpmw.Wrap(ctrl, answering(200))
	_ = ctrl.Close()
	return h
}

// Two allocations, both of the map that any answer with headers has: the map, by
// net/http, and its room for eight of them. Bodies, lengths and hints are made
// beforehand and shared.
func TestRefusalAllocatesOnlyItsHeaderMap(t *testing.T) {
	h, w := closed(t), &sink{}
	for name, header := range map[string]http.Header{
		"plain":    {},
		"browser":  {"Accept": {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}},
		"upgrade":  {"Upgrade": {"websocket"}, "Accept": {"text/event-stream"}},
		"for text": {"Accept": {"text/plain"}},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header = header
		if n := testing.AllocsPerRun(1000, func() { w.header = nil; h.ServeHTTP(w, r) }); n > 2 {
			t.Errorf("%s: %v allocations, want at most 2", name, n)
		}
	}
}

// sink is a ResponseWriter without a connection.
type sink struct{ header http.Header }

func (s *sink) Header() http.Header {
	if s.header == nil {
		s.header = make(http.Header)
	}
	return s.header
}
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }
func (s *sink) WriteHeader(int)             {}

func BenchmarkRefusal(b *testing.B) {
	h := closed(b)
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Accept", "*/*")
	w := &sink{}
	b.ReportAllocs()
	for b.Loop() {
		w.header = nil
		h.ServeHTTP(w, r)
	}
}

func BenchmarkAdmitted(b *testing.B) {
	for name, wrap := range map[string]func(http.Handler) http.Handler{
		"bare":    func(h http.Handler) http.Handler { return h },
		"wrapped": httpmw.New(control(b, admission.Config{}), httpmw.Config{}),
	} {
		b.Run(name, func(b *testing.B) {
			h := wrap(answering(200))
			r := httptest.NewRequest("GET", "/", nil)
			w := &sink{}
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(w, r)
			}
		})
	}
}
