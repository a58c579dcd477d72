package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"time"
)

const (
	childStart = 30 * time.Second // for a child to say where it listens
	childStop  = 3 * time.Second  // for it to end by itself
	childReset = 20 * time.Second // for its requests to end and its data to be restored
)

// child is the order service in a process of its own.
type child struct {
	at    addresses
	cmd   *exec.Cmd
	stdin io.Closer
	said  *tail
	ended chan struct{} // closed when the process has ended
	err   error         // how; to be read after ended is closed
}

// startChild starts this program again as the service on the database file db, with or without Spillway.
func startChild(ctx context.Context, db, spillway string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{
		cmd:  exec.Command(self, "serve", "-child", "-addr", "127.0.0.1:0", "-db", db, "-spillway", spillway),
		said: &tail{}, ended: make(chan struct{}),
	}
	c.cmd.Stderr = c.said
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	c.stdin = stdin
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	told := make(chan error, 1)
	go func() {
		told <- json.NewDecoder(stdout).Decode(&c.at)
		c.err = c.cmd.Wait()
		close(c.ended)
	}()
	ctx, cancel := context.WithTimeout(ctx, childStart)
	defer cancel()
	select {
	case err = <-told:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		c.stop()
		return nil, fmt.Errorf("starting the service (spillway %s): %w%s", spillway, err, c.said)
	}
	return c, nil
}

// stop ends the process by closing its standard input, or by force when it does not listen.
func (c *child) stop() {
	c.stdin.Close()
	select {
	case <-c.ended:
	case <-time.After(childStop):
		_ = c.cmd.Process.Kill()
		<-c.ended
	}
}

// dead says how the process ended, nil while it lives.
func (c *child) dead() error {
	select {
	case <-c.ended:
		if c.err == nil {
			return fmt.Errorf("the service ended%s", c.said)
		}
		return fmt.Errorf("the service ended: %w%s", c.err, c.said)
	default:
		return nil
	}
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
	req, err := http.NewRequestWithContext(ctx, method, "http://"+c.at.Admin+path, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("asking the service: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10))
		return fmt.Errorf("asking the service: %s: %s", path, bytes.TrimSpace(text))
	}
	return json.NewDecoder(res.Body).Decode(answer)
}

// tail keeps the last of what a process says. It is safe for concurrent use.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailSize = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - tailSize; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

// String is what was said, set off from a message before it; empty if nothing was.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.buf) == 0 {
		return ""
	}
	return "; it said: " + string(bytes.TrimSpace(t.buf))
}
