package httpmw_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/httpmw"
)

const loadHeader = "Endpoint-Load-Metrics"

// loadOf reads the header as Envoy's parser does.
func loadOf(t *testing.T, h http.Handler, path string) (r admission.LoadReport) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	v := w.Result().Header[loadHeader]
	if len(v) != 1 {
		t.Fatalf("%s: %d headers %s, want one", path, len(v), loadHeader)
	}
	if _, err := fmt.Sscanf(v[0], "TEXT application_utilization=%g,rps_fractional=%g,eps=%g", &r.Utilization, &r.QPS, &r.EPS); err != nil {
		t.Fatalf("%s: %q: %v", path, v[0], err)
	}
	return r
}

func TestLoadHeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctrl := control(t, only(pinned(2, 0)))
		h := httpmw.New(ctrl, httpmw.Config{LoadHeader: true})(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(100 * time.Millisecond) }))
		if r := loadOf(t, h, "/"); !(r.Utilization > 0) || r.QPS != 0 {
			t.Errorf("the first answer: %+v", r)
		}
		for range 50 { // one of two slots, all the time
			loadOf(t, h, "/")
		}
		if r := loadOf(t, h, "/"); r.Utilization < 0.49 || r.Utilization > 0.51 || r.QPS < 8 || r.QPS > 12 || r.EPS != 0 {
			t.Errorf("half full: %+v", r)
		}
		if err := ctrl.Close(); err != nil {
			t.Fatal(err)
		}
		for range 20 { // shed, and told all the same
			time.Sleep(100 * time.Millisecond)
			loadOf(t, h, "/")
		}
		if r := loadOf(t, h, "/"); r.Utilization <= 1 || r.EPS < 8 {
			t.Errorf("all are shed: %+v", r)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/healthz", nil))
		if v := w.Result().Header[loadHeader]; v != nil {
			t.Errorf("the answer to a probe has %q", v)
		}
	})
}

func TestNoLoadHeaderUnasked(t *testing.T) {
	ctrl := control(t, admission.Config{})
	w := httptest.NewRecorder()
	httpmw.Wrap(ctrl, http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if v := w.Result().Header[loadHeader]; v != nil {
		t.Errorf("the header is there by default: %q", v)
	}
}

// What the header costs a request is no allocation: its text is made some times a second.
func TestLoadHeaderAllocatesNothing(t *testing.T) {
	ctrl := control(t, admission.Config{})
	if err := ctrl.Close(); err != nil {
		t.Fatal(err)
	}
	allocs := func(cfg httpmw.Config) float64 {
		h := httpmw.New(ctrl, cfg)(http.NotFoundHandler())
		r := httptest.NewRequest("GET", "/", nil)
		w := sink{header: http.Header{}}
		return testing.AllocsPerRun(10_000, func() { h.ServeHTTP(&w, r) })
	}
	if with, without := allocs(httpmw.Config{LoadHeader: true}), allocs(httpmw.Config{}); with > without {
		t.Errorf("%v allocations with the header, %v without", with, without)
	}
}
