package process

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"time"
)

const (
	startTime = 30 * time.Second // for a child to say hello
	stopTime  = 10 * time.Second // for it to end by itself
)

// Child is a process that Start has started. Its methods may be called from any goroutine.
type Child struct {
	what  string
	cmd   *exec.Cmd
	stdin io.Closer
	said  *tail
	ended chan struct{} // closed when the process has ended
	err   error         // how; to be read after ended is closed
}

// Start starts this program again with args and waits until it has said hello, which it decodes as JSON into the value
// that hello points to. what names the child in errors. The error holds what the child said on its standard error.
func Start(ctx context.Context, what string, hello any, args ...string) (*Child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &Child{what: what, cmd: exec.Command(self, args...), said: &tail{}, ended: make(chan struct{})}
	c.cmd.Stderr = c.said
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	told := make(chan error, 1)
	go func() {
		told <- json.NewDecoder(stdout).Decode(hello)
		c.err = c.cmd.Wait()
		close(c.ended)
	}()
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	select {
	case err = <-told:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = c.Stop()
		return nil, fmt.Errorf("starting %s: %w%s", what, err, c.said)
	}
	return c, nil
}

// Stop ends the process by closing its standard input, or after ten seconds by force, and returns how it ended. It
// may be called more than once.
func (c *Child) Stop() error {
	c.stdin.Close()
	select {
	case <-c.ended:
	case <-time.After(stopTime):
		_ = c.cmd.Process.Kill()
		<-c.ended
	}
	return c.err
}

// Dead says how the process ended, nil while it lives.
func (c *Child) Dead() error {
	select {
	case <-c.ended:
		if c.err == nil {
			return fmt.Errorf("%s ended%s", c.what, c.said)
		}
		return fmt.Errorf("%s ended: %w%s", c.what, c.err, c.said)
	default:
		return nil
	}
}

// Until is what a child's context should be: it ends when stdin does. The end of ctx does not end it, nor does an
// interrupt: after a Ctrl-C, which reaches both, the parent ends the child when it has drawn its conclusions.
func Until(ctx context.Context, stdin io.Reader) (context.Context, context.CancelFunc) {
	signal.Ignore(os.Interrupt)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		cancel()
	}()
	return ctx, cancel
}

// Ask sends a request to a child and decodes its answer as JSON into the value that answer points to. A status other
// than 200 is an error with the text of the answer. who names the child in errors.
func Ask(ctx context.Context, who, method, url string, answer any) error {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("asking %s: %w", who, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10))
		return fmt.Errorf("asking %s: %s: status %d: %s", who, req.URL.Path, res.StatusCode, bytes.TrimSpace(text))
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
