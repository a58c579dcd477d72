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
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/zeromicro/go-zero/core/logx"
)

func main() {
	beOther()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := start(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// beOther does not return where this process is started to be something else than the command.
func beOther() {
	if inBubble() {
		bubble()
	}
	if isService() {
		beService()
	}
}

// options are what the flags say.
type options struct {
	quick bool
	out   string
	peers []peer
	parts map[string]bool
}

// parts of the comparison.
var parts = []string{"cost", "virtual", "real"}

func parse(args []string, stderr io.Writer) (o options, err error) {
	fs := flag.NewFlagSet("peers", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.BoolVar(&o.quick, "quick", false, "shorter measurements: under 10 minutes on two cores")
	fs.StringVar(&o.out, "out", "", "`folder` to write peers.md and peers.svg to; empty: only print")
	some := fs.String("parts", strings.Join(parts, ","), "`parts` of the comparison, separated by commas: decision cost, all in virtual time, the real service")
	only := fs.String("peers", "", "`names` of the peers to compare, separated by commas; empty: all")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	o.parts = map[string]bool{}
	for part := range strings.SplitSeq(*some, ",") {
		if !slices.Contains(parts, part) {
			return o, fmt.Errorf("-parts has %q, must be some of %s", part, strings.Join(parts, ", "))
		}
		o.parts[part] = true
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

func start(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	text, svg, err := compare(ctx, o, stderr)
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
	err = os.WriteFile(filepath.Join(o.out, "peers.md"), []byte(text), 0o644)
	if svg != nil {
		err = errors.Join(err, os.WriteFile(filepath.Join(o.out, "peers.svg"), svg, 0o644))
	}
	return err
}

// rounds is what the medians are of.
const rounds = 5

// seed is that of every load.
const seed = 1

// compare measures the parts that are asked for. The picture is of what is in virtual time.
func compare(ctx context.Context, o options, progress io.Writer) (text string, svg []byte, err error) {
	logx.Disable() // go-zero's, which reports on the process once a minute
	if o.parts["cost"] {
		d := 100 * time.Millisecond
		if o.quick {
			d = 20 * time.Millisecond
		}
		costs, err := measureCosts(o.peers, rounds, d, progress)
		if err != nil {
			return "", nil, err
		}
		text = "## Decision cost\n\n" + costTable(costs)
	}
	if o.parts["virtual"] {
		f := findings{plan: planOf(o.quick)}
		if err := f.measure(ctx, o.peers, seed, progress); err != nil {
			return "", nil, err
		}
		if svg, err = f.picture(o.peers); err != nil {
			return "", nil, err
		}
		text += f.text(o.peers)
	}
	if o.parts["real"] {
		r := realtime{realPlan: realPlanOf(o.quick), progress: progress}
		if err := r.measure(ctx, o.peers, seed); err != nil {
			return "", nil, err
		}
		text += r.text(o.peers)
	}
	return text, svg, nil
}
