package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"syscall"
)

// Client sends requests to one target over connections that it keeps alive. It is safe for concurrent use;
// make it with NewClient.
type Client struct{ target }

// target is a service and how it is spoken to.
type target interface {
	// send sends one request and reads its answer to the end. It gives up when ctx ends; the service is told
	// how long that is from now.
	send(ctx context.Context, r Request) answer
	close()
}

// NewClient returns a client of the service at a URL: http://, https:// or, for gRPC without TLS, grpc://host:port.
func NewClient(at string) (*Client, error) {
	u, err := ParseTarget(at)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "grpc" {
		return &Client{newGRPCTarget(u.Host)}, nil
	}
	return &Client{newHTTPTarget(u)}, nil
}

// ParseTarget checks the URL of a target.
func ParseTarget(at string) (*url.URL, error) {
	u, err := url.Parse(at)
	switch {
	case err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "":
	case u.Scheme == "http" || u.Scheme == "https" || u.Scheme == "grpc" && u.Port() != "" && u.Path == "":
		return u, nil
	}
	return nil, fmt.Errorf("load: target is %q, must be an http:// or https:// URL without query, or grpc://host:port", at)
}

// Close closes the connections that are idle. The client opens new ones when it is used again.
func (c *Client) Close() { c.close() }

// answer is what came back for one request.
type answer struct {
	status     int    // of HTTP; that of a gRPC call is translated
	reason     string // why it was shed; empty unless status is 503 or 429
	says       string // what a gRPC status says beside that
	retryAfter int    // seconds; -1 for none
	err        error  // no answer: the deadline passed, or the connection failed
}

func (a answer) shed() bool {
	return a.status == http.StatusServiceUnavailable || a.status == http.StatusTooManyRequests
}

// saying is what a gRPC status says, set off from a message before it.
func (a answer) saying() string {
	if a.says == "" {
		return ""
	}
	return "; " + a.says
}

// dead tells whether nobody listens at the target any more.
func (a answer) dead() bool { return errors.Is(a.err, syscall.ECONNREFUSED) }
