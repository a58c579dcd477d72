package main

import (
	"errors"
	"flag"
	"log"
	"net/http"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/httpmw"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "where to listen")
	flag.Parse()
	ctrl, err := admission.New(config())
	if err != nil {
		log.Fatal(err)
	}
	srv := &http.Server{Addr: *addr, Handler: guarded(ctrl, newBackend().handler()), ReadHeaderTimeout: 5 * time.Second}
	log.Printf("listening on http://%s: GET /rows/{key}, PUT /files/{name}", *addr)
	if err := srv.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}

func config() admission.Config {
	return admission.Config{
		Lanes: map[string]admission.LaneConfig{"default": {Limit: admission.LimitConfig{Fixed: conns}}},
		Regulators: map[string]admission.RegulatorConfig{
			"upload-bytes": {Kind: "bytes", Limit: 32 << 20},
			"hot-row":      {Kind: "hot-key", Limit: 0.1, Floor: conns / 2},
			"tenant-rate":  {Kind: "rate", Limit: 1000}, // of each
		},
	}
}

// guarded says what the guards go by. A body without a length counts as the largest, and is cut off there.
func guarded(ctrl *admission.Controller, h http.Handler) http.Handler {
	return httpmw.New(ctrl, httpmw.Config{
		UnsizedBytes: largest,
		Classify: func(r *http.Request) admission.Request {
			return admission.Request{Key: r.URL.Path, Tenant: r.Header.Get("X-Tenant")} // set by our own gateway
		},
	})(http.MaxBytesHandler(h, largest))
}
