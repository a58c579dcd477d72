package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spillway-go/spillway/examples/shedcurve/simulate"
)

// Exit statuses.
const (
	exitOK     = 0
	exitFailed = 1 // the run failed, or ended early
	exitUsage  = 2 // flags or arguments are wrong
)

// gcPercent is the load generator's GOGC.
const gcPercent = 400

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(args) > 0 && args[0] == "serve" {
		cfg, err := parseServe(args[1:], stderr)
		if err != nil {
			return usageStatus(err, stderr)
		}
		return status(serve(ctx, cfg, stdin, stdout, stderr), stderr)
	}
	if len(args) > 0 && args[0] == "sim" {
		return simulate.Main(args[1:], stdout, stderr)
	}
	runtime.GOMAXPROCS(1)         // the other core is the target's
	debug.SetGCPercent(gcPercent) // memory is cheaper than lag
	if len(args) > 0 && args[0] == "noisy" {
		cfg, err := parseNoisy(args[1:], stderr)
		if err != nil {
			return usageStatus(err, stderr)
		}
		return status(runNoisy(ctx, cfg, stdout, stderr), stderr)
	}
	if len(args) > 0 && args[0] == "limits" {
		cfg, err := parseLimits(args[1:], stderr)
		if err != nil {
			return usageStatus(err, stderr)
		}
		return status(runLimits(ctx, cfg, stdout, stderr), stderr)
	}
	if len(args) > 0 && args[0] == "watch" {
		cfg, err := parseWatch(args[1:], stderr)
		if err != nil {
			return usageStatus(err, stderr)
		}
		return status(runWatch(ctx, cfg, stdout, stderr), stderr)
	}
	opts, err := parseOptions(args, stderr)
	if err != nil {
		return usageStatus(err, stderr)
	}
	c := newCurve(opts, stderr)
	err = c.run(ctx, stdout)
	if files := written(c.opts.out, c.report.StartedAt); len(files) > 0 {
		fmt.Fprintln(stderr, "shedcurve: wrote", strings.Join(files, ", "))
	}
	return status(err, stderr)
}

// written are the load test's files in a folder that were not written before a time.
func written(dir string, since time.Time) (files []string) {
	for _, name := range []string{"shedcurve.html", "shedcurve.svg", "shedcurve.csv", "shedcurve.json", scenarioFile} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && !info.ModTime().Before(since) {
			files = append(files, path)
		}
	}
	return files
}

func status(err error, stderr io.Writer) int {
	if err != nil {
		fmt.Fprintln(stderr, "shedcurve:", err)
		return exitFailed
	}
	return exitOK
}

// errSaid stands for an error that package flag has already printed.
var errSaid = errors.New("said")

func usageStatus(err error, stderr io.Writer) int {
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case !errors.Is(err, errSaid):
		fmt.Fprintln(stderr, "shedcurve:", err)
		fmt.Fprintln(stderr, "shedcurve: -help lists the flags")
	}
	return exitUsage
}

// parseFlags lets fs read args, none of which may be left over.
func parseFlags(fs *flag.FlagSet, args []string) error {
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		return err
	} else if err != nil {
		return errSaid
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	return nil
}
