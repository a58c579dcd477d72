package main

import (
	"context"
	"math/rand/v2"
	"net/http/httptest"
	"testing"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/examples/shedcurve/load"
)

const seed = 1

// serve has a new store on loopback until the test ends, behind all guards but those named.
func serve(t *testing.T, without ...string) *load.Client {
	t.Helper()
	cfg := config()
	for _, name := range without {
		delete(cfg.Regulators, name)
	}
	ctrl, err := admission.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(guarded(ctrl, newBackend().handler()))
	client, err := load.NewClient(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		srv.Close() // waits for what runs
		if err := ctrl.Close(); err != nil {
			t.Error(err)
		}
		quiet(t, ctrl)
	})
	return client
}

// quiet fails when a request was not settled or not released.
func quiet(t *testing.T, ctrl *admission.Controller) {
	t.Helper()
	for _, l := range ctrl.Stats().Lanes {
		var arrived, admitted, settled, released uint64
		for _, ts := range l.Tiers {
			arrived, admitted, settled = arrived+ts.Arrived, admitted+ts.Admitted, settled+ts.Admitted+ts.Left
			for _, n := range ts.Shed {
				settled += n
			}
			for _, n := range ts.Outcomes {
				released += n
			}
		}
		if l.Inflight != 0 || arrived != settled || admitted != released {
			t.Errorf("lane %s: inflight %d; %d arrived, %d settled; %d admitted, %d released",
				l.Name, l.Inflight, arrived, settled, admitted, released)
		}
	}
}

// requests is a mix of one kind.
func requests(t *testing.T, make func(*rand.Rand) load.Request) *load.Mix {
	t.Helper()
	mix, err := load.NewMix(load.Class{Name: "all", Weight: 1, Tier: "t3", Make: make})
	if err != nil {
		t.Fatal(err)
	}
	return mix
}

// offer returns what became of all requests; those still to come when ctx ends are not made.
func offer(ctx context.Context, t *testing.T, client *load.Client, cfg load.Config) load.Result {
	all, err := load.Run(ctx, client, cfg)
	if err != nil && ctx.Err() == nil {
		t.Error(err)
	}
	return all.Merge(nil)
}
