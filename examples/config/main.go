// Command config serves with a config from a file, and follows the file while it runs:
//
//	go run ./examples/config -config examples/config/http-api.yaml
//
// Change the file, or send SIGHUP. The other files beside this source are for a database
// node, with a lane more than classify names, and for a service that many tenants share. The
// latter has one lane, and not those: here each request gets a 500, and the first of them a
// log line that says which lane is missing.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/configfile"
	"github.com/spillway-go/spillway/httpmw"
)

func main() {
	path := flag.String("config", "examples/config/http-api.yaml", "`file` with the config")
	addr := flag.String("addr", "127.0.0.1:8080", "`address` to serve on")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := run(ctx, *path, *addr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, path, addr string) error {
	ctrl, err := newController(ctx, path)
	if err != nil {
		return err
	}
	defer ctrl.Close()
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
	server := &http.Server{Addr: addr, Handler: httpmw.New(ctrl, httpmw.Config{Classify: classify})(hello)}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	slog.Info("listening on http://" + addr)
	if err := server.ListenAndServe(); ctx.Err() == nil {
		return err
	}
	return nil
}

// newController returns a controller that follows the file until ctx ends.
func newController(ctx context.Context, path string) (*admission.Controller, error) {
	cfg, err := configfile.Load(path)
	if err != nil {
		return nil, err // every error of the file, with line and column
	}
	ctrl, err := admission.New(cfg, admission.WithLogger(slog.Default()))
	if err != nil {
		return nil, err
	}
	go configfile.Watch(ctx, path, ctrl, configfile.OnHangup())
	return ctrl, nil
}

// classify uses the lanes of the file for an HTTP API.
func classify(r *http.Request) admission.Request {
	req := admission.Request{Lane: "read", Caller: r.Header.Get("X-Caller"), Tenant: r.Header.Get("X-Tenant")}
	if r.Method != http.MethodGet {
		req.Lane = "write"
	}
	return req
}
