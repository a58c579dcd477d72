package httpmw_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/httpmw"
)

func TestProbesAreRecognisedExactly(t *testing.T) {
	for _, c := range []struct {
		method, target string
		want           bool
	}{
		{"GET", "/healthz", true},
		{"HEAD", "/healthz", true},
		{"GET", "/readyz", true},
		{"GET", "/livez", true},
		{"GET", "/livez?verbose=1", true},
		{"GET", "/metrics", true},
		{"GET", "/debug/pprof/profile?seconds=1", true},
		{"GET", "/debug/", true},

		{"POST", "/healthz", false},
		{"OPTIONS", "/healthz", false},
		{"GET", "/healthzx", false},
		{"GET", "/healthz/", false},
		{"GET", "//healthz", false},
		{"GET", "/HEALTHZ", false},
		{"GET", "/healthz/../work", false},
		{"GET", "/work?p=/healthz", false},
		{"GET", "/work/healthz", false},
		{"GET", "/health%7A", false}, // a router may read it as /healthz, or not
		{"GET", "/metrics/orders", false},
		{"GET", "/debug", false},
		{"GET", "/debugger", false},
		{"GET", "/debug/../work", false},
		{"GET", "/debug/./work", false},
		{"GET", "/debug//work", false},
		{"GET", "/debug/%2e%2e/work", false},
		{"GET", "/debug/..%2fwork", false},
		{"POST", "/debug/pprof/symbol", false},
	} {
		r := httptest.NewRequest(c.method, c.target, nil)
		if got := httpmw.IsProbe(r); got != c.want {
			t.Errorf("%s %s: probe is %v, want %v", c.method, c.target, got, c.want)
		}
	}
}

func TestExemptReplacesTheProbes(t *testing.T) {
	s := &spy{Verdict: shedding(&admission.ShedError{Reason: admission.ReasonPriority})}
	h := httpmw.New(control(t, admission.Config{}, watched(s)), httpmw.Config{
		Exempt: func(r *http.Request) bool { return r.URL.Path == "/ping" },
	})(answering(http.StatusNoContent))
	for path, want := range map[string]int{"/ping": 204, "/healthz": 503, "/": 503} {
		if got := get(h, path).Code; got != want {
			t.Errorf("%s: status %d, want %d", path, got, want)
		}
	}
	if n := s.Asked(); n != 2 {
		t.Errorf("%d requests were decided on, want 2", n)
	}
}

func TestRouteIsThePatternNeverThePath(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("GET /orders/{id}", answering(200))
	for _, c := range []struct {
		name   string
		mux    *http.ServeMux
		target string
		inside bool // is the middleware inside of the mux
		want   string
	}{
		{"outside, told the mux", mux, "/orders/17", false, "GET /orders/{id}"},
		{"outside, told the mux, no route", mux, "/secret/17", false, "other"},
		{"outside, told nothing", nil, "/orders/17", false, "other"},
		{"inside", nil, "/orders/17", true, "GET /orders/{id}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &spy{}
			mw := httpmw.New(control(t, admission.Config{}, watched(s)), httpmw.Config{Mux: c.mux})
			var h http.Handler
			if c.inside {
				inner := http.NewServeMux()
				inner.Handle("GET /orders/{id}", mw(answering(200)))
				h = inner
			} else {
				h = mw(mux)
			}
			get(h, c.target)
			if got := s.Last().Op; got != c.want {
				t.Errorf("op is %q, want %q", got, c.want)
			}
		})
	}
}

func TestClassifyWinsAndTheRestIsFilledIn(t *testing.T) {
	s := &spy{}
	t2 := admission.NewPriority(admission.T2, 5)
	h := httpmw.New(control(t, admission.Config{}, watched(s)), httpmw.Config{
		Classify: func(*http.Request) admission.Request {
			return admission.Request{Priority: t2, Tenant: "acme", Cost: 2}
		},
		Headers: httpmw.Headers{
			Trusted:  func(*http.Request) bool { return true },
			Priority: "x-priority", Tenant: "x-tenant", Caller: "x-caller",
		},
	})(answering(200))
	r := httptest.NewRequest("POST", "/", strings.NewReader("12345"))
	r.Header.Set("X-Priority", "t0")
	r.Header.Set("X-Tenant", "evil")
	r.Header.Set("X-Caller", "checkout")
	h.ServeHTTP(httptest.NewRecorder(), r)
	want := admission.Request{Priority: t2, Tenant: "acme", Cost: 2, Caller: "checkout", Op: "other", Bytes: 5}
	got := s.Last()
	got.Lane = ""
	if !reflect.DeepEqual(got, want) {
		t.Errorf("request is %+v\nwant       %+v", got, want)
	}
}

// What a stranger says of himself counts only where it makes him less important.
func TestHeadersAreBelievedOfTheTrustedOnly(t *testing.T) {
	all := httpmw.Headers{
		Priority: "X-Priority", Urgency: true, Tenant: "X-Tenant", Caller: "X-Caller", Attempt: "X-Envoy-Attempt-Count",
		Trusted: func(r *http.Request) bool { return r.TLS != nil },
	}
	nobody := all
	nobody.Trusted = nil
	sent := []string{"X-Priority", "t1/7", "X-Tenant", "acme", "X-Caller", "checkout", "X-Envoy-Attempt-Count", "3"}
	full := admission.Request{Priority: admission.NewPriority(admission.T1, 7), Tenant: "acme", Caller: "checkout", Attempt: 2}
	tier := func(s string) admission.Request {
		p, err := admission.ParsePriority(s)
		if err != nil {
			t.Fatal(err)
		}
		return admission.Request{Priority: p}
	}
	for _, c := range []struct {
		name    string
		headers httpmw.Headers
		trusted bool
		sent    []string
		want    admission.Request
	}{
		{"none are read by default", httpmw.Headers{Trusted: all.Trusted}, true, sent, admission.Request{}},
		{"trusted", all, true, sent, full},
		{"a stranger may step back", all, false, []string{"X-Priority", "t5"}, tier("t5")},
		{"nobody is trusted by default", nobody, true, []string{"X-Tenant", "acme", "X-Envoy-Attempt-Count", "3"}, admission.Request{}},
		{"two tenants are none", all, true, []string{"X-Tenant", "acme", "X-Tenant", "other"}, admission.Request{}},
		{"two priorities are none", all, true, []string{"X-Priority", "t1", "X-Priority", "t5"}, admission.Request{}},
		{"malformed priority", all, true, []string{"X-Priority", "t9"}, admission.Request{}},
		{"endless priority", all, true, []string{"X-Priority", strings.Repeat("t", 1<<16)}, admission.Request{}},
		{"nobody becomes exempt", all, true, []string{"X-Priority", "exempt"}, admission.Request{}},
		{"urgency", all, true, []string{"Priority", "u=1, i"}, tier("t1")},
		{"urgency comes second", all, true, []string{"Priority", "u=1", "X-Priority", "t4"}, tier("t4")},
		{"urgency of a stranger, background", all, false, []string{"Priority", "u=7"}, tier("t5")},
		{"attempt 0", all, true, []string{"X-Envoy-Attempt-Count", "0"}, admission.Request{}},
		{"negative attempt", all, true, []string{"X-Envoy-Attempt-Count", "-3"}, admission.Request{}},
		{"absurd attempt", all, true, []string{"X-Envoy-Attempt-Count", "99999999999999999999"}, admission.Request{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &spy{}
			h := httpmw.New(control(t, admission.Config{}, watched(s)), httpmw.Config{Headers: c.headers})(answering(200))
			r := httptest.NewRequest("GET", "/", nil)
			if c.trusted {
				r.TLS = &tls.ConnectionState{}
			}
			for i := 0; i < len(c.sent); i += 2 {
				r.Header.Add(c.sent[i], c.sent[i+1])
			}
			h.ServeHTTP(httptest.NewRecorder(), r)
			got := s.Last()
			c.want.Op, c.want.Lane = got.Op, got.Lane
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("request is %+v\nwant       %+v", got, c.want)
			}
		})
	}
}

func TestStrangersCannotStepForward(t *testing.T) {
	s := &spy{}
	h := httpmw.New(control(t, admission.Config{}, watched(s)), httpmw.Config{
		Headers: httpmw.Headers{Priority: "X-Priority", Urgency: true},
	})(answering(200))
	for _, header := range [][]string{
		{"X-Priority", "t0"}, {"X-Priority", "t1/3"}, {"X-Priority", "t3/0"}, {"X-Priority", "t3/1"}, {"Priority", "u=0"},
	} {
		get(h, "/", header...)
		if got := s.Last().Priority.String(); got != "t3" {
			t.Errorf("%v: priority %v, want t3, the default of UntrustedMax, and no cohort", header, got)
		}
	}
}
