package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Virtual time is testing/synctest's, and the peers are real: their clocks, timers and goroutines are Go's
// own, in a bubble. Some keep their state in package variables and some cannot be stopped, so each load is
// offered in a process of its own: this program again, told by the environment that it is a bubble.

const bubbleVariable = "PEERS_BUBBLE"

// inBubble tells whether this process is one.
func inBubble() bool { return os.Getenv(bubbleVariable) != "" }

// bubble reads a load from the standard input, plays it in virtual time and writes the result to the
// standard output. It does not return.
func bubble() {
	os.Args = os.Args[:1] // testing would read flags
	testing.Main(func(_, _ string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: "Bubble", F: func(t *testing.T) {
			synctest.Test(t, func(*testing.T) { os.Exit(answer()) })
		}}}, nil, nil)
}

// answer is the exit status.
func answer() int {
	var l load
	err := json.NewDecoder(os.Stdin).Decode(&l)
	if err == nil {
		var res result
		if res, err = play(l); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(res)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func errUnknown(name string) error { return fmt.Errorf("there is no peer %q", name) }

// offerAlone offers a load in a process of its own.
func offerAlone(ctx context.Context, l load) (res result, err error) {
	in, err := json.Marshal(l)
	if err != nil {
		return res, err
	}
	exe, err := os.Executable()
	if err != nil {
		return res, err
	}
	cmd := exec.CommandContext(ctx, exe)
	cmd.Env = append(os.Environ(), bubbleVariable+"=1", "GOMAXPROCS=1") // a bubble is one thing after the other
	cmd.WaitDelay = time.Second
	cmd.Stdin = bytes.NewReader(in)
	var words bytes.Buffer
	cmd.Stderr = &words
	out, err := cmd.Output()
	if err != nil {
		return res, fmt.Errorf("%s, %s at %gx: %w\n%s", l.Peer, l.Shape.Name, l.X, err, tail(words.String()))
	}
	return res, json.Unmarshal(out, &res)
}

// tail is the end of what a process said.
func tail(s string) string { return s[max(0, len(s)-2000):] }

// offerAll offers loads, as many at once as there are processors, and returns the results in their order.
func offerAll(ctx context.Context, loads []load, at int, done func()) ([]result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	results := make([]result, len(loads))
	next := make(chan int)
	var workers sync.WaitGroup
	for range at {
		workers.Go(func() {
			for i := range next {
				res, err := offerAlone(ctx, loads[i])
				if err != nil {
					cancel(err)
					return
				}
				results[i] = res
				done()
			}
		})
	}
feed:
	for i := range loads {
		select {
		case next <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	workers.Wait()
	return results, context.Cause(ctx)
}
