package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/spillway-go/spillway/examples/internal/process"
)

const childReset = 20 * time.Second // for its requests to end and its data to be restored

// child is the order service in a process of its own.
type child struct {
	*process.Child
	at addresses
}

// startChild starts this program again as the service on the database file db, with or without Spillway, and with further
// flags of serve.
func startChild(ctx context.Context, db, spillway string, flags ...string) (*child, error) {
	c := &child{}
	args := append([]string{"serve", "-child", "-addr", "127.0.0.1:0", "-db", db, "-spillway", spillway}, flags...)
	var err error
	c.Child, err = process.Start(ctx, "the service (spillway "+spillway+")", &c.at, args...)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// usage asks what the service has used.
func (c *child) usage(ctx context.Context) (u usage, err error) {
	err = c.ask(ctx, http.MethodGet, "/usage", &u)
	return u, err
}

// speed asks for the gauge's readings since the last reset.
func (c *child) speed(ctx context.Context) (r readings, err error) {
	if err = c.ask(ctx, http.MethodGet, "/speed", &r); err == nil && len(r) == 0 {
		err = errors.New("asking the service: /speed: no readings")
	}
	return r, err
}

// reset waits until the service is idle and restores its data, and says what it has used until then.
func (c *child) reset(ctx context.Context) (u usage, err error) {
	ctx, cancel := context.WithTimeout(ctx, childReset)
	defer cancel()
	err = c.ask(ctx, http.MethodPost, "/reset", &u)
	return u, err
}

func (c *child) ask(ctx context.Context, method, path string, answer any) error {
	return process.Ask(ctx, "the service", method, "http://"+c.at.Admin+path, answer)
}
