package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

// Exit statuses.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2 // flags or arguments are wrong
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	command := ""
	if len(args) > 0 && (args[0] == "leader" || args[0] == "follower") {
		command, args = args[0], args[1:]
	}
	var err error
	switch command {
	case "leader":
		err = runLeader(ctx, args, stdin, stdout, stderr)
	case "follower":
		err = runFollower(ctx, args, stdin, stdout, stderr)
	default:
		var o options
		if o, err = parseOptions(args, stderr); err != nil {
			break
		}
		runtime.GOMAXPROCS(1) // the other core is the node's
		if o.compare {
			err = compare(ctx, o, stdout, stderr)
		} else {
			err = watch(ctx, o, stdout)
		}
	}
	return status(err, stderr)
}

// errUsage is what errors about flags and arguments wrap.
var errUsage = errors.New("-help lists the flags")

func status(err error, stderr io.Writer) int {
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.Is(err, errUsage):
		fmt.Fprintln(stderr, "docstore:", err)
		return exitUsage
	}
	fmt.Fprintln(stderr, "docstore:", err)
	return exitFailed
}

// parse lets fs read args, none of which may be left over.
func parse(fs *flag.FlagSet, args []string) error {
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		return err
	} else if err != nil {
		return errUsage // package flag has said what is wrong
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; %w", fs.Arg(0), errUsage)
	}
	return nil
}
