package httpmw_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/httpmw"
)

// All it takes: nothing to tune.
func Example() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "order %s", r.PathValue("id"))
	})

	ctrl, err := admission.New(admission.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer ctrl.Close()
	h := httpmw.Wrap(ctrl, mux)

	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/orders/17", nil))
	fmt.Println(w.Code, w.Body)
	// Output: 200 order 17
}

// A service that knows its requests: reads and writes in lanes of their own,
// reports first to go, and each tenant held to its cap by the scorecard.
func ExampleNew_classify() {
	ctrl, err := admission.New(admission.Config{
		Lanes: map[string]admission.LaneConfig{"read": {}, "write": {}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer ctrl.Close()

	classify := func(r *http.Request) admission.Request {
		req := admission.Request{
			Lane:     "read",
			Priority: admission.NewPriority(admission.T1, 0),
			Tenant:   r.Header.Get("X-Api-Key"), // checked by the gateway in front
		}
		switch {
		case r.Method != http.MethodGet:
			req.Lane = "write"
		case strings.HasPrefix(r.URL.Path, "/reports/"):
			req.Priority = admission.NewPriority(admission.T5, 0)
		}
		return req
	}
	mux := http.NewServeMux()
	h := httpmw.New(ctrl, httpmw.Config{Classify: classify, Mux: mux})(mux)
	_ = http.Server{Handler: h}
	// Output:
}

// Callers inside the mesh, known by their certificate, name tenant and priority;
// all others can at most step back. Everybody's deadline counts.
func ExampleNew_headers() {
	ctrl, err := admission.New(admission.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer ctrl.Close()
	cfg := httpmw.Config{
		Headers: httpmw.Headers{
			Trusted:   func(r *http.Request) bool { return r.TLS != nil && len(r.TLS.VerifiedChains) > 0 },
			Priority:  "X-Priority",
			Tenant:    "X-Tenant",
			Attempt:   "X-Envoy-Attempt-Count",
			Deadlines: []string{"X-Request-Timeout", "Grpc-Timeout"},
		},
		NoRetryHeader: "X-Envoy-Ratelimited",
	}
	if err := cfg.Validate(); err != nil {
		log.Fatal(err)
	}
	h := httpmw.New(ctrl, cfg)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, limited := r.Context().Deadline()
		fmt.Fprint(w, "has a deadline: ", limited)
	}))

	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("X-Request-Timeout", "250ms")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	fmt.Println(w.Body)
	// Output: has a deadline: true
}

// A program that answers shed requests in its own words.
func ExampleConfig_reject() {
	ctrl, err := admission.New(admission.Config{})
	if err != nil {
		log.Fatal(err)
	}
	h := httpmw.New(ctrl, httpmw.Config{
		Reject: func(w http.ResponseWriter, _ *http.Request, e *admission.ShedError) {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintf(w, "come back later (%v)", e.Reason)
		},
	})(http.NotFoundHandler())

	_ = ctrl.Close() // sheds all from now on
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	fmt.Println(w.Code, w.Body)
	// Output: 503 come back later (closed)
}
