package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/spillway-go/spillway/examples/docstore/node"
	"github.com/spillway-go/spillway/examples/docstore/store"
	"github.com/spillway-go/spillway/examples/internal/meter"
	"github.com/spillway-go/spillway/examples/internal/process"
	"github.com/spillway-go/spillway/examples/shedcurve/orders"
)

// leaderHello is what a leader tells its parent.
type leaderHello struct {
	Addr  string `json:"addr"`  // for clients
	Admin string `json:"admin"` // for the follower and the parent
}

// leaderState is what a leader says of itself.
type leaderState struct {
	meter.Usage
	Lag       int64       `json:"lag"`
	Lags      []lagSample `json:"lags"`       // 20 a second, the first quarter of an hour
	ShedRatio float64     `json:"shed_ratio"` // of writes, with Spillway
}

// runLeader serves until stdin ends.
func runLeader(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("docstore leader", flag.ContinueOnError)
	fs.SetOutput(stderr)
	dir := fs.String("dir", "", "`folder` of the data")
	arm := fs.String("arm", armSpillway, "what stands before the node: `token-bucket or spillway`")
	perSecond := fs.Float64("bucket", 0, "`writes/s` of the token bucket")
	lagBound := fs.Float64("lag-bound", 0, "`entries` that the follower may be behind")
	if err := parse(fs, args); err != nil {
		return err
	}
	runtime.GOMAXPROCS(1) // the generator needs the other core
	ctx, cancel := process.Until(ctx, stdin)
	defer cancel()
	s, err := store.Open(ctx, filepath.Join(*dir, leaderFile))
	if err != nil {
		return err
	}
	defer s.Close()
	l := node.NewLeader(s)
	defer l.Close()
	handler, ratio := node.Handler(l), func() float64 { return 0 }
	switch *arm {
	case armBucket:
		handler = bucket(handler, *perSecond)
	case armSpillway:
		protect, ctrl, err := spillway(l, *lagBound)
		if err != nil {
			return err
		}
		defer ctrl.Close()
		handler = protect(handler)
		ratio = func() float64 { w, _ := ctrl.Stats().Lane("write"); return w.ShedRatio }
	default:
		return fmt.Errorf("-arm is %q, must be %s or %s", *arm, armBucket, armSpillway)
	}
	r := &lagRecorder{leader: l}
	m := meter.New(r.record)
	defer m.Stop()
	mux := http.NewServeMux()
	mux.Handle("GET /log", node.LogHandler(l))
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, _ *http.Request) {
		lag, _ := l.Lag()
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(leaderState{m.Sample(), lag, r.all(), ratio()})
	})
	return serve(ctx, stdout, orders.WithDeadline(handler), mux)
}

// lagRecorder keeps how the lag went.
type lagRecorder struct {
	leader *node.Leader

	mu   sync.Mutex
	lags []lagSample
}

const mostLags = 20_000

func (r *lagRecorder) record() {
	lag, _ := r.leader.Lag()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.lags) < mostLags {
		r.lags = append(r.lags, lagSample{time.Now(), lag})
	}
}

func (r *lagRecorder) all() []lagSample {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]lagSample(nil), r.lags...)
}

// serve serves both handlers on loopback, says where, and goes on until ctx ends.
func serve(ctx context.Context, stdout io.Writer, public, admin http.Handler) error {
	var servers []*http.Server
	var addrs []string
	ended := make(chan error, 2)
	for _, h := range []http.Handler{public, admin} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		srv := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
		servers, addrs = append(servers, srv), append(addrs, l.Addr().String())
		go func() { ended <- srv.Serve(l) }()
	}
	err := json.NewEncoder(stdout).Encode(leaderHello{addrs[0], addrs[1]})
	if err == nil {
		select {
		case err = <-ended:
		case <-ctx.Done():
		}
	}
	return errors.Join(err, servers[0].Close(), servers[1].Close())
}
