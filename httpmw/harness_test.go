package httpmw_test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
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

// control starts a controller for the length of the test, at whose end nothing
// may be left of any request: all that began was settled, once.
func control(t testing.TB, cfg admission.Config, opts ...admission.Option) *admission.Controller {
	t.Helper()
	c, err := admission.New(cfg, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		quiet(t, c)
	})
	return c
}

func quiet(t testing.TB, c *admission.Controller) {
	t.Helper()
	stats := c.Stats()
	for _, l := range stats.Lanes {
		if l.Inflight != 0 || l.Overrun != 0 {
			t.Errorf("lane %s: inflight %d, overrun %d, want none", l.Name, l.Inflight, l.Overrun)
		}
		for tier, ts := range l.Tiers {
			if n := ts.Admitted + total(ts.Shed[:]) + ts.Left; ts.Arrived != n || l.Queued[tier] != 0 {
				t.Errorf("lane %s, t%d: %d arrived, %d settled, %d queued", l.Name, tier, ts.Arrived, n, l.Queued[tier])
			}
			if n := total(ts.Outcomes[:]); ts.Admitted != n {
				t.Errorf("lane %s, t%d: %d admitted, %d released", l.Name, tier, ts.Admitted, n)
			}
		}
	}
	for _, r := range stats.Rules {
		if r.Held != 0 {
			t.Errorf("rule %s: %d held, want none", r.Rule, r.Held)
		}
	}
}

func total(ns []uint64) (sum uint64) {
	for _, n := range ns {
		sum += n
	}
	return sum
}

// counts adds up the tiers of the default lane.
func counts(c *admission.Controller) (sum admission.TierStats) {
	l, _ := c.Stats().Lane("default")
	for _, ts := range l.Tiers {
		sum.Arrived += ts.Arrived
		sum.Admitted += ts.Admitted
		sum.Left += ts.Left
		for i, n := range ts.Shed {
			sum.Shed[i] += n
		}
		for i, n := range ts.Outcomes {
			sum.Outcomes[i] += n
		}
	}
	return sum
}

// hold takes a slot that is not the middleware's.
func hold(t testing.TB, c *admission.Controller) admission.Ticket {
	t.Helper()
	ticket, err := c.TryAdmit(context.Background(), admission.Request{})
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

// fill has n requests wait in the queue until the returned function is called.
// They are of the best tier, or a newcomer could take their place.
func fill(t testing.TB, c *admission.Controller, n int) (leave func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var waiters sync.WaitGroup
	for range n {
		waiters.Go(func() {
			ticket, _ := c.Admit(ctx, admission.Request{Priority: admission.NewPriority(admission.T0, 0)})
			ticket.Release(admission.Ignore)
		})
	}
	for queued := 0; queued < n; {
		runtime.Gosched()
		l, _ := c.Stats().Lane("default")
		queued = l.Queued[admission.T0]
	}
	return func() {
		cancel()
		waiters.Wait()
	}
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

// serveInBubble serves h on pipes, with HTTP/2 in the clear, until the test ends.
func serveInBubble(t *testing.T, h http.Handler, http2 bool) (*http.Server, *http.Client) {
	p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
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
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = srv.Close()
		<-served
		time.Sleep(time.Second) // the server lingers over a connection that it cuts off
	})
	return srv, &http.Client{Transport: transport}
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
