package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/zeromicro/go-zero/core/logx"
)

func main() {
	if inBubble() {
		bubble()
	}
	err := start(os.Args[1:], os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// options are what the flags say.
type options struct {
	quick bool
	out   string
	peers []peer
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	fs := flag.NewFlagSet("peers", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.BoolVar(&o.quick, "quick", false, "shorter measurements: under 10 minutes on two cores")
	fs.StringVar(&o.out, "out", "", "`folder` to write peers.md and peers.svg to; empty: only print")
	only := fs.String("peers", "", "`names` of the peers to compare, separated by commas; empty: all")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	o.peers = all
	if *only != "" {
		o.peers, err = choose(*only)
	}
	return o, err
}

func choose(names string) (chosen []peer, err error) {
	for name := range strings.SplitSeq(names, ",") {
		p, ok := find(strings.TrimSpace(name))
		if !ok {
			return nil, fmt.Errorf("-peers has %q, must be names of peers: %s", name, strings.Join(peerNames(), ", "))
		}
		chosen = append(chosen, p)
	}
	return chosen, nil
}

func peerNames() []string {
	var names []string
	for _, p := range all {
		names = append(names, p.name)
	}
	return names
}

func start(args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	text, svg, err := compare(o, stderr)
	if err != nil {
		return err
	}
	fmt.Fprint(stdout, text)
	if o.out == "" {
		return nil
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(o.out, "peers.md"), []byte(text), 0o644),
		os.WriteFile(filepath.Join(o.out, "peers.svg"), svg, 0o644))
}

// rounds is what the medians are of.
const rounds = 5

// seed is that of every load.
const seed = 1

func compare(o options, progress io.Writer) (text string, svg []byte, err error) {
	d := 100 * time.Millisecond
	if o.quick {
		d = 20 * time.Millisecond
	}
	logx.Disable() // go-zero's, which reports on the process once a minute
	costs, err := measureCosts(o.peers, rounds, d, progress)
	if err != nil {
		return "", nil, err
	}
	f := findings{plan: planOf(o.quick)}
	if err := f.measure(context.Background(), o.peers, seed, progress); err != nil {
		return "", nil, err
	}
	svg, err = f.picture(o.peers)
	return "## Decision cost\n\n" + costTable(costs) + f.text(o.peers), svg, err
}
