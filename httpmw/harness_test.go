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
	"github.com/spillway-go/spillway/internal/admissiontest"
)

type (
	spy   = admissiontest.Spy
	gauge = admissiontest.Gauge
)

var (
	shedding               = admissiontest.Shedding
	pinned, only           = admissiontest.Pinned, admissiontest.Only
	control, counts, total = admissiontest.Control, admissiontest.Counts, admissiontest.Total
	hold, fill             = admissiontest.Hold, admissiontest.Fill
)

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
