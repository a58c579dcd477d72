package httpmw_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/httpmw"
)

// What the built-in guards refuse is told apart: a replica that is full, a key or
// tenant that has more than its part, and what no retry will ever get in.
func TestGuardsOnTheWire(t *testing.T) {
	const fits, tooLarge = 40_000, 80_000
	for kind, c := range map[string]struct {
		rc     admission.RegulatorConfig
		bytes  int64
		status int
		reason string
		retry  bool
	}{
		"bytes":       {admission.RegulatorConfig{Kind: "bytes", Limit: 50_000}, fits, 503, "regulator", true},
		"bytes, ever": {admission.RegulatorConfig{Kind: "bytes", Limit: 50_000}, tooLarge, 503, "regulator", false},
		"hot-key":     {admission.RegulatorConfig{Kind: "hot-key", Limit: 0.5, Floor: 1}, fits, 429, "keyed", true},
		"rate":        {admission.RegulatorConfig{Kind: "rate", Limit: 0.001}, fits, 429, "keyed", true},
		"rate, ever":  {admission.RegulatorConfig{Kind: "rate", Limit: 50_000, Counts: "bytes"}, tooLarge, 429, "keyed", false},
	} {
		t.Run(kind, func(t *testing.T) {
			ctrl := control(t, admission.Config{Regulators: map[string]admission.RegulatorConfig{"guard": c.rc}})
			request := admission.Request{Tenant: "acme", Key: "row", Bytes: c.bytes}
			if c.retry { // else it is refused with nothing in flight
				ticket, err := ctrl.Admit(t.Context(), admission.Request{Tenant: "acme", Key: "row", Bytes: fits})
				if err != nil {
					t.Fatal(err)
				}
				defer ticket.Release(admission.Ignore)
			}
			w := get(httpmw.New(ctrl, httpmw.Config{
				Classify: func(*http.Request) admission.Request { return request },
			})(answering(200)), "/")
			if w.Code != c.status || !strings.Contains(w.Body.String(), `"reason":"`+c.reason+`"`) {
				t.Errorf("answered %d %s, want %d with reason %s", w.Code, w.Body, c.status, c.reason)
			}
			if c.retry {
				delay(t, w)
			} else if got, ok := w.Header()["Retry-After"]; ok {
				t.Errorf("told to come again in %s s", got)
			}
		})
	}
}

// A body counts with its declared length, and one without as what the config
// says, unless Classify knows better.
func TestWhatBodiesCountAs(t *testing.T) {
	sized := func() io.Reader { return strings.NewReader("12345") }
	chunked := func() io.Reader { return io.MultiReader(sized()) }
	for name, http2 := range protocols {
		for what, c := range map[string]struct {
			body              func() io.Reader
			unsized, classify int64
			want              int64
		}{
			"sized":                  {sized, 100, 0, 5},
			"chunked":                {chunked, 100, 0, 100},
			"chunked, no config":     {chunked, 0, 0, 0},
			"chunked and classified": {chunked, 100, 7, 7},
			"none":                   {func() io.Reader { return nil }, 100, 0, 0},
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				s := &spy{}
				srv, client := serve(t, httpmw.New(control(t, admission.Config{}, watched(s)), httpmw.Config{
					UnsizedBytes: c.unsized,
					Classify:     func(*http.Request) admission.Request { return admission.Request{Bytes: c.classify} },
				})(answering(200)), http2)
				resp, err := client.Post(srv.URL, "text/plain", c.body())
				drain(t, resp, err)
				if got := s.Last().Bytes; got != c.want {
					t.Errorf("counts as %d bytes, want %d", got, c.want)
				}
			})
		}
	}
}

// The bound holds for bodies of undeclared length too where they count as the
// most that the handler reads of one.
func TestUnsizedBodiesDoNotPassTheGuard(t *testing.T) {
	const most = 1000
	ctrl := control(t, admission.Config{Regulators: map[string]admission.RegulatorConfig{"bytes": {Kind: "bytes", Limit: 1.5 * most}}})
	h := httpmw.New(ctrl, httpmw.Config{UnsizedBytes: most})
	read := http.MaxBytesHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); len(body) > most || err == nil {
			t.Errorf("read %d bytes, %v", len(body), err)
		}
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	}), most)
	send := func(inner http.Handler) int {
		r := httptest.NewRequest("POST", "/", io.MultiReader(strings.NewReader(strings.Repeat("x", 2*most))))
		w := httptest.NewRecorder()
		h(inner).ServeHTTP(w, r)
		return w.Code
	}
	var within int
	outer := send(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		within = send(read)
		read.ServeHTTP(w, r)
	}))
	if outer != 413 || within != 503 {
		t.Errorf("the first is answered %d, one while it lasts %d, want 413 and 503", outer, within)
	}
}
