package httpmw_test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/codel"
)

// spy is a stage that remembers what passed it and sheds what verdict says.
type spy struct {
	verdict func(*admission.Request) error // nil: lets all pass

	mu       sync.Mutex
	requests []admission.Request // as Enter saw them, shed ones too
	outcomes map[admission.Outcome]int
	inside   int
}

func (s *spy) Name() string { return "spy" }

func (s *spy) Enter(_ admission.Load, r *admission.Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, *r)
	if s.verdict != nil {
		if err := s.verdict(r); err != nil {
			return err
		}
	}
	s.inside++
	return nil
}

func (s *spy) Exit(_ admission.Load, _ *admission.Request, o admission.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.outcomes == nil {
		s.outcomes = map[admission.Outcome]int{}
	}
	s.outcomes[o]++
	s.inside--
}

// last is the request seen last.
func (s *spy) last() admission.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.requests) == 0 {
		return admission.Request{}
	}
	return s.requests[len(s.requests)-1]
}

func (s *spy) count(o admission.Outcome) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outcomes[o]
}

func (s *spy) running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inside
}

// shedding is a verdict that sheds all.
func shedding(e *admission.ShedError) func(*admission.Request) error {
	return func(*admission.Request) error { return e }
}

// pinned is a lane of a fixed limit whose waiters wait as long as a test likes.
func pinned(limit, queue int) admission.LaneConfig {
	return admission.LaneConfig{
		Limit:    admission.LimitConfig{Fixed: limit},
		Queue:    codel.Config{Capacity: queue},
		Gate:     admission.GateConfig{Law: "off"},
		Deadline: time.Hour,
	}
}

func only(l admission.LaneConfig) admission.Config {
	return admission.Config{Lanes: map[string]admission.LaneConfig{"default": l}}
}

// control starts a controller for the length of the test.
func control(t testing.TB, cfg admission.Config, opts ...admission.Option) *admission.Controller {
	t.Helper()
	c, err := admission.New(cfg, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func watched(s *spy) admission.Option { return admission.WithStages(s) }

// get calls h without a network.
func get(h http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// protocols are those that a server is tried with, on loopback with TLS for
// HTTP/2.
var protocols = map[string]bool{"HTTP/1": false, "HTTP/2": true}

func serve(t *testing.T, h http.Handler, http2 bool) (*httptest.Server, *http.Client) {
	t.Helper()
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	if http2 {
		srv.EnableHTTP2 = true
		srv.StartTLS()
	} else {
		srv.Start()
	}
	t.Cleanup(srv.Close)
	return srv, srv.Client()
}

// pipes is a listener whose connections never leave the process, so that a real
// server runs in a bubble of virtual time.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// serveInBubble serves h on pipes, with HTTP/2 in the clear. Close the returned
// function's server before the bubble ends.
func serveInBubble(h http.Handler, http2 bool) (p *pipes, client *http.Client, stop func()) {
	p = &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	proto := new(http.Protocols)
	proto.SetHTTP1(!http2)
	proto.SetUnencryptedHTTP2(http2)
	srv := &http.Server{Handler: h, Protocols: proto, ErrorLog: log.New(io.Discard, "", 0)}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.Serve(p)
	}()
	transport := &http.Transport{DialContext: p.dial, Protocols: proto}
	return p, &http.Client{Transport: transport}, func() {
		transport.CloseIdleConnections()
		_ = srv.Close()
		<-served
	}
}

// drain reads a response to its end.
func drain(t *testing.T, resp *http.Response, err error) (status int, body string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// answering is a handler that answers with a status.
func answering(status int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
}
