package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/configfile"
	"github.com/spillway-go/spillway/examples/internal/process"
	"github.com/spillway-go/spillway/examples/shedcurve/orders"
	"github.com/spillway-go/spillway/examples/shedcurve/service"
	"github.com/spillway-go/spillway/examples/shedcurve/workload"
	"github.com/spillway-go/spillway/grpcmw"
	"github.com/spillway-go/spillway/httpmw"
)

// serveConfig is what serve's flags say, checked.
type serveConfig struct {
	addr, admin string
	spillway    bool
	grpc        bool
	limit       int    // of each lane; 0: tuned
	config      string // file, in place of defaultConfig; empty: that
	db          string // made by orders.Create; empty: a temporary one
	customers   int    // of a temporary one; 0: as fits this machine
	child       bool
}

func parseServe(args []string, stderr io.Writer) (serveConfig, error) {
	var c serveConfig
	var spillway string
	fs := flag.NewFlagSet("shedcurve serve", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&c.addr, "addr", "127.0.0.1:8080", "`address` to serve on; port 0 picks one")
	fs.StringVar(&c.admin, "admin", "127.0.0.1:0", "`address` for usage, reset and profiles; anybody who reaches it can reset the data")
	fs.StringVar(&spillway, "spillway", "on", "`on or off`: with or without Spillway before the same handler")
	fs.BoolVar(&c.grpc, "grpc", false, "speak gRPC instead of HTTP, with server reflection")
	fs.IntVar(&c.limit, "limit", 0, "pin the limit of each of Spillway's lanes, read and write, to `N`; 0: it finds itself")
	fs.StringVar(&c.config, "config", "", "YAML or JSON `file` with Spillway's config, which needs the lanes read and write; changes of it are applied within a second")
	fs.StringVar(&c.db, "db", "", "database `file` that an earlier run made; empty: a new one in a temporary folder")
	customersFlag(fs, &c.customers)
	fs.BoolVar(&c.child, "child", false, "print the addresses as JSON and end when standard input does")
	if err := parseFlags(fs, args); err != nil {
		return c, err
	}
	if err := checkCustomers(c.customers); err != nil {
		return c, err
	}
	if c.customers != 0 && c.db != "" {
		return c, errors.New("-customers is for a new database, not for -db")
	}
	switch spillway {
	case "on":
		c.spillway = true
	case "off":
	default:
		return c, fmt.Errorf("-spillway is %q, must be on or off", spillway)
	}
	if c.limit != 0 && !c.spillway {
		return c, errors.New("-limit is for -spillway on")
	}
	if c.config != "" && (c.limit != 0 || !c.spillway) {
		return c, errors.New("-config is for -spillway on, without -limit")
	}
	if err := checkLimit(c.limit); err != nil {
		return c, fmt.Errorf("-limit: %w", err)
	}
	return c, nil
}

// serve runs the order service until ctx ends, or, as a child, until stdin does.
func serve(ctx context.Context, c serveConfig, stdin io.Reader, stdout, stderr io.Writer) error {
	runtime.GOMAXPROCS(1) // one core, whoever starts it: the load generator needs the other
	if c.child {
		var cancel context.CancelFunc
		ctx, cancel = process.Until(ctx, stdin)
		defer cancel()
	}
	cfg, err := c.readConfig()
	if err != nil {
		return err // before minutes go into a database
	}
	if c.db == "" {
		dir, err := os.MkdirTemp("", "shedcurve-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		c.db = filepath.Join(dir, "orders.db")
		sizes, err := sizesFor(ctx, c.customers, c.grpc)
		if err != nil {
			return err
		}
		if err := orders.Create(ctx, c.db, sizes); err != nil {
			return err
		}
		fmt.Fprintf(stderr, "%d orders of %d customers, %d products\n", sizes.Orders, sizes.Customers, sizes.Products)
	}
	store, err := orders.Open(ctx, c.db)
	if err != nil {
		return err
	}
	defer store.Close()
	var ctrl *admission.Controller // a nil one admits all
	if c.spillway {
		var stop func()
		if ctrl, stop, err = newController(ctx, c.config, cfg, stderr); err != nil {
			return err
		}
		defer stop()
	}
	svc, err := service.New(ctx, store)
	if err != nil {
		return err
	}
	defer svc.Close()
	admin := svc.Admin()
	if ctrl != nil {
		if err := showAdmission(admin, ctrl); err != nil {
			return err
		}
	}
	public := service.Server(svc.HTTP(httpmw.New(ctrl, httpmw.Config{Classify: workload.Classify})))
	if c.grpc {
		public = svc.GRPC(grpcmw.ServerOptions(ctrl, grpcmw.Config{Classify: workload.ClassifyCall})...)
	}
	hello := service.Hello(stdout)
	if !c.child {
		hello = func(at service.Addresses) error {
			_, err := fmt.Fprintf(stderr, "order service on %s (spillway %t), admin on http://%s, there /debug/admission is a page and /metrics for Prometheus; Ctrl-C ends it\n", targetURL(at.Addr, c.grpc), c.spillway, at.Admin)
			return err
		}
	}
	return service.Listen(ctx, service.Addresses{Addr: c.addr, Admin: c.admin}, public, admin, hello)
}

// readConfig is the controller's config as the flags and their file say.
func (c serveConfig) readConfig() (admission.Config, error) {
	if c.config == "" {
		return defaultConfig(c.limit), nil
	}
	cfg, err := configfile.Load(c.config)
	if err != nil {
		return cfg, err
	}
	for _, lane := range []string{"read", "write"} { // which Classify names
		if _, ok := cfg.Lanes[lane]; !ok {
			return cfg, fmt.Errorf("-config is %s: must have lane %q", c.config, lane)
		}
	}
	return cfg, nil
}

// newController returns the controller with the config that was read, and what ends it. The config's file is
// watched, if it has one.
func newController(ctx context.Context, file string, cfg admission.Config, stderr io.Writer) (*admission.Controller, func(), error) {
	if file == "" {
		ctrl, err := admission.New(cfg)
		return ctrl, func() { _ = ctrl.Close() }, err
	}
	ctrl, err := admission.New(cfg, admission.WithLogger(slog.New(slog.NewTextHandler(stderr, nil))))
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = configfile.Watch(ctx, file, ctrl, configfile.OnHangup()) // its arguments are right
	}()
	return ctrl, func() { cancel(); <-ended; _ = ctrl.Close() }, nil
}
