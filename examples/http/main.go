// Command http wraps a handler twice: with nothing but defaults, and with what
// a service knows of its own requests. Ask it for /hello or /api/orders.
package main

import (
	"errors"
	"flag"
	"io"
	"log"
	"net/http"
	"strings"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/httpmw"
	"github.com/spillway-go/spillway/scorecard"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "where to listen")
	flag.Parse()

	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello\n") })

	plain, err := wrapped(mux)
	if err != nil {
		log.Fatal(err)
	}
	api, err := classified(mux)
	if err != nil {
		log.Fatal(err)
	}
	front := http.NewServeMux()
	front.Handle("/", plain)
	front.Handle("/api/", api)
	srv := &http.Server{Addr: *addr, Handler: front, ReadHeaderTimeout: 5 * time.Second}
	log.Printf("listening on http://%s", *addr)
	if err := srv.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}

// wrapped is the five-line start.
func wrapped(handler http.Handler) (http.Handler, error) {
	ctrl, err := admission.New(admission.Config{})
	if err != nil {
		return nil, err
	}
	return httpmw.Wrap(ctrl, handler), nil
}

// classified says what the service knows: which requests matter most, who sent
// them, and what one tenant may have at a time.
func classified(mux *http.ServeMux) (http.Handler, error) {
	ctrl, err := admission.New(admission.Config{
		Lanes: map[string]admission.LaneConfig{"read": {}, "write": {Deadline: 2 * time.Second}},
		Scorecard: admission.ScorecardConfig{Rules: []scorecard.Rule{
			{Name: "each tenant", Match: "tenant:*", Cap: scorecard.Cap{Share: 1}, UnderPressure: &scorecard.Cap{Share: 0.5}},
		}},
	})
	if err != nil {
		return nil, err
	}
	return httpmw.New(ctrl, httpmw.Config{
		Mux: mux,
		Classify: func(r *http.Request) admission.Request {
			req := admission.Request{Lane: "read", Priority: admission.T1.Priority()}
			if r.Method != http.MethodGet {
				req.Lane = "write"
			}
			if strings.HasPrefix(r.URL.Path, "/api/reports/") {
				req.Priority = admission.T5.Priority()
			}
			req.Tenant = r.Header.Get("X-Tenant") // set by our own gateway
			return req
		},
	})(mux), nil
}
