package load

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Headers that requests carry, beside those of their class.
const (
	DeadlineHeader = "X-Request-Timeout" // how long the client will still wait, with a unit
	TenantHeader   = "X-Tenant"
)

// dialTimeout ends what the transport does not end with the request that began it.
const dialTimeout = 5 * time.Second

// httpTarget is a service that speaks HTTP.
type httpTarget struct {
	base      string // without a slash at its end
	transport *http.Transport
}

// newHTTPTarget returns that at a http or https URL. A path in it goes before that of every request.
func newHTTPTarget(target *url.URL) *httpTarget {
	dialer := &net.Dialer{Timeout: dialTimeout}
	return &httpTarget{base: strings.TrimSuffix(target.String(), "/"), transport: &http.Transport{
		// A client that gives up closes its connection. Thousands a second of those would leave the
		// generator without ports while they linger in TIME_WAIT; a reset leaves none behind.
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, addr)
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
			return conn, err
		},
		MaxIdleConnsPerHost: 1 << 16,
		DisableCompression:  true,
		IdleConnTimeout:     time.Minute,
	}}
}

func (c *httpTarget) close() { c.transport.CloseIdleConnections() }

func (c *httpTarget) send(ctx context.Context, r Request) answer {
	req, err := c.request(ctx, r)
	if err != nil {
		return answer{err: err, retryAfter: -1}
	}
	res, err := c.transport.RoundTrip(req)
	if err != nil {
		return answer{err: err, retryAfter: -1}
	}
	defer res.Body.Close()
	return read(res)
}

func (c *httpTarget) request(ctx context.Context, r Request) (*http.Request, error) {
	if r.isCall() {
		return nil, fmt.Errorf("load: %s is a gRPC method, the target speaks HTTP", r.Method)
	}
	var body io.Reader
	if r.Body != "" {
		body = strings.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, c.base+r.Path, body)
	if err != nil {
		return nil, err
	}
	if r.Body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range r.Header {
		req.Header.Set(k, v)
	}
	if r.Tenant != "" {
		req.Header.Set(TenantHeader, r.Tenant)
	}
	if d, ok := ctx.Deadline(); ok {
		req.Header.Set(DeadlineHeader, strconv.FormatInt(max(1, time.Until(d).Milliseconds()), 10)+"ms")
	}
	return req, nil
}

func read(res *http.Response) answer {
	a := answer{status: res.StatusCode, retryAfter: -1}
	if !a.shed() {
		_, a.err = io.Copy(io.Discard, res.Body)
		return a
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	a.err = err
	a.reason = reason(res, text)
	if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && s >= 0 {
		a.retryAfter = s
	}
	return a
}

// reason is why a request was shed: the member "reason" of a problem+json body, or else the header
// X-Admission-Reason, or else the status, for services that say no more.
func reason(res *http.Response, text []byte) string {
	if strings.HasPrefix(res.Header.Get("Content-Type"), "application/problem+json") {
		var problem struct{ Reason string }
		if json.Unmarshal(text, &problem) == nil && problem.Reason != "" {
			return problem.Reason
		}
	}
	if r := res.Header.Get("X-Admission-Reason"); r != "" {
		return r
	}
	return strconv.Itoa(res.StatusCode)
}
