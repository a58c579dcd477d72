package main

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spillway-go/spillway/examples/docstore/node"
	"github.com/spillway-go/spillway/examples/docstore/store"
	"github.com/spillway-go/spillway/examples/internal/process"
)

// runFollower follows a leader until stdin ends.
func runFollower(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	var c node.FollowerConfig
	fs := flag.NewFlagSet("docstore follower", flag.ContinueOnError)
	fs.SetOutput(stderr)
	dir := fs.String("dir", "", "`folder` of the data")
	leader := fs.String("leader", "", "`URL` of the leader's log")
	fs.Float64Var(&c.Pace, "pace", 1200, "`pages/s` of 4 KB that the disk gives; a small entry costs one")
	fs.DurationVar(&c.SweepEvery, "sweep-every", 8*time.Second, "how often the background sweep runs")
	fs.DurationVar(&c.SweepFor, "sweep-for", 0, "for how long; 0: never")
	if err := parse(fs, args); err != nil {
		return err
	}
	runtime.GOMAXPROCS(1) // the generator needs the other core
	ctx, cancel := process.Until(ctx, stdin)
	defer cancel()
	s, err := store.Open(ctx, filepath.Join(*dir, followerFile))
	if err != nil {
		return err
	}
	defer s.Close()
	if err := json.NewEncoder(stdout).Encode(c); err != nil {
		return err
	}
	return node.Follow(ctx, s, c, node.Fetch(*leader))
}
