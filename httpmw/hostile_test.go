package httpmw_test

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/httpmw"
	"github.com/spillway-go/spillway/internal/admissiontest"
	"github.com/spillway-go/spillway/scorecard"
)

// siege is a service of eight workers that strangers attack by one listener while its
// own customers, of t1 and well within their share, go on to ask by another. The limit
// finds itself, and one rule keeps all strangers together to half of it.
type siege struct {
	admissiontest.Siege
	own  http.Handler // what a gateway of ours is served by, without a network
	addr string       // of the strangers' listener
}

func newSiege(t *testing.T) (*siege, *httptest.Server) {
	cfg := admission.Config{
		Lanes: map[string]admission.LaneConfig{
			"default": {}, "streams": {Limit: admission.LimitConfig{Fixed: 4}, Gate: admission.GateConfig{Law: "off"}},
		},
		Scorecard: admission.ScorecardConfig{Rules: []scorecard.Rule{
			{Name: "customer", Match: "tenant:customer", Cap: scorecard.Cap{N: 1000}},
			{Name: "each tenant", Match: "tenant:*", Cap: scorecard.Cap{Share: 0.5}},
		}},
	}
	s := &siege{Siege: admissiontest.Siege{Ctrl: control(t, cfg)}}
	headers := httpmw.Headers{
		Priority: "X-Priority", Urgency: true, Tenant: "X-Tenant", Caller: "X-Caller", Attempt: "X-Attempt",
		Deadlines: []string{"X-Request-Timeout", "Grpc-Timeout", "X-Timeout-Ms"}, MinDeadline: 100 * time.Millisecond,
	}
	public := serveQuietly(t, httpmw.New(s.Ctrl, httpmw.Config{Headers: headers, StreamLane: "streams"})(workshop()))
	s.addr = public.Listener.Addr().String()
	headers.Trusted = func(*http.Request) bool { return true }
	s.own = httpmw.New(s.Ctrl, httpmw.Config{Headers: headers})(workshop())
	return s, serveQuietly(t, s.own)
}

// serveQuietly serves h on loopback, without a word on what strangers send.
func serveQuietly(t *testing.T, h http.Handler) *httptest.Server {
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.Start()
	t.Cleanup(srv.Close)
	return srv
}

// workshop is what the service does: it reads what it is sent, has one of eight workers
// take 5 ms over it, and answers as much as is asked for.
func workshop() http.Handler {
	workers := make(chan struct{}, 8)
	page := make([]byte, 32<<10)
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		select {
		case workers <- struct{}{}:
			time.Sleep(5 * time.Millisecond)
			<-workers
		case <-r.Context().Done():
			w.WriteHeader(http.StatusGatewayTimeout)
			return
		}
		if r.URL.Path == "/large" {
			for range 1024 {
				if _, err := w.Write(page); err != nil {
					return
				}
			}
		}
	})
	return mux
}

// customer asks once and tells whether he was served.
func customer(t *testing.T, srv *httptest.Server) bool {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
	if err != nil {
		t.Error(err)
		return false
	}
	req.Header.Set("X-Tenant", "customer")
	req.Header.Set("X-Priority", "t1")
	req.Header.Set("X-Request-Timeout", "2s")
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Error(err)
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// crowded has n strangers do the same at once, over and over.
func (s *siege) crowded(n int, do func()) {
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for time.Now().Before(s.End) {
				do()
			}
		})
	}
	all.Wait()
}

// dial is a connection of a stranger's who says text and stays until the siege is over.
func (s *siege) dial(t *testing.T, text string) (conn net.Conn, hangUp func()) {
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Error(err)
		return nil, func() {}
	}
	_ = conn.SetDeadline(s.End)
	_, _ = io.WriteString(conn, text)
	return conn, func() { conn.Close() }
}

// claims are what strangers put into headers: false, absurd, huge.
var claims = []string{
	"t0", "t0/0", "t1/127", "exempt", "u=0", "u=0;u=0, u=-1", `"`, `\`, "-1", "0", "1n", "1ns", "99999999H", "NaN", "1e308s",
	"9223372036854775807", "\x80\xff", "t0\tt0", strings.Repeat("t0,", 3000), strings.Repeat("9", 20_000), strings.Repeat(`"\`, 5000), strings.Repeat("x", 60_000),
}

func claimed() string { return claims[rand.IntN(len(claims))] }

// brazen sends requests full of claims on one connection, and comes again at once
// when it is refused.
func (s *siege) brazen(t *testing.T, claim func() string) {
	conn, hangUp := s.dial(t, "")
	defer hangUp()
	if conn == nil {
		return
	}
	answers := bufio.NewReader(conn)
	for {
		text := "GET / HTTP/1.1\r\nHost: x\r\n"
		for _, name := range []string{"X-Priority", "Priority", "X-Tenant", "X-Caller", "X-Attempt", "X-Request-Timeout", "Grpc-Timeout", "X-Timeout-Ms", "Accept"} {
			text += name + ": " + claim() + "\r\n"
		}
		_, _ = io.WriteString(conn, text+"\r\n")
		resp, err := http.ReadResponse(answers, nil)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.Close {
			return
		}
	}
}

// Whatever strangers do, the customers are served, at most one in a hundred not (without the
// rule it is nine in ten), nobody passes for more than a stranger, memory is bounded, and in
// the end nothing is left.
func TestHostileFloods(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of it")
	}
	for name, attack := range map[string]func(*testing.T, *siege){
		"slow bodies": func(t *testing.T, s *siege) {
			s.crowded(300, func() {
				conn, hangUp := s.dial(t, "POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
				defer hangUp()
				for conn != nil {
					if _, err := conn.Write([]byte("x")); err != nil {
						return
					}
					time.Sleep(50 * time.Millisecond)
				}
			})
		},
		"slow readers": func(t *testing.T, s *siege) {
			s.crowded(300, func() {
				conn, hangUp := s.dial(t, "GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
				defer hangUp()
				for conn != nil {
					if _, err := conn.Read(make([]byte, 100)); err != nil {
						return
					}
					time.Sleep(50 * time.Millisecond)
				}
			})
		},
		"two thousand connections": func(t *testing.T, s *siege) {
			s.crowded(2000, func() {
				half := []string{"GET / HTTP/1.1\r\nHo", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe"}
				_, hangUp := s.dial(t, half[rand.IntN(len(half))])
				defer hangUp()
				time.Sleep(time.Until(s.End))
			})
		},
		"absurd claims": func(t *testing.T, s *siege) {
			s.crowded(32, func() { s.brazen(t, claimed) })
		},
		"a retry storm of t0": func(t *testing.T, s *siege) {
			s.crowded(64, func() { s.brazen(t, func() string { return "t0" }) })
		},
		"streams": func(t *testing.T, s *siege) {
			s.crowded(64, func() {
				_, hangUp := s.dial(t, strings.Repeat("GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\nAccept: text/event-stream\r\n\r\n", 20))
				defer hangUp()
				time.Sleep(100 * time.Millisecond)
			})
		},
		"made-up tenants of a careless gateway": func(t *testing.T, s *siege) {
			var made atomic.Int64
			s.crowded(500, func() {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
				r.Header.Set("X-Tenant", fmt.Sprintf("%d %s", made.Add(1), claimed()))
				w := httptest.NewRecorder()
				s.own.ServeHTTP(w, r)
			})
			t.Logf("%d names", made.Load())
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, srv := newSiege(t)
			s.Stand(t, 128<<20, func() bool { return customer(t, srv) }, func() { attack(t, s) })
			srv.Client().CloseIdleConnections()
		})
	}
}
