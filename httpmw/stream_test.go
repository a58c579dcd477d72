package httpmw_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/httpmw"
)

// events sends n events 100 ms apart.
func events(n int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range n {
			if i > 0 {
				select {
				case <-time.After(100 * time.Millisecond):
				case <-r.Context().Done():
					return
				}
			}
			fmt.Fprintf(w, "data: %d\n\n", i)
			w.(http.Flusher).Flush()
		}
	})
}

// B37, b: every event arrives when it is sent.
func TestEventsArriveOneByOne(t *testing.T) {
	for name, http2 := range protocols {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &spy{}
				ctrl := control(t, admission.Config{}, watched(s))
				_, client := serveInBubble(t, httpmw.Wrap(ctrl, events(5)), http2)
				start := time.Now()
				resp, err := client.Get("http://test/")
				if err != nil {
					t.Fatal(err)
				}
				lines := bufio.NewScanner(resp.Body)
				for i := range 5 {
					lines.Scan()
					want := time.Duration(i) * 100 * time.Millisecond
					if got := time.Since(start); lines.Text() != fmt.Sprintf("data: %d", i) || got < want || got > want+50*time.Millisecond {
						t.Errorf("%q after %v, want event %d after %v", lines.Text(), got, i, want)
					}
					lines.Scan()
					if i == 0 && s.Running() != 0 {
						t.Error("the stream has begun and still holds its slot")
					}
				}
				drain(t, resp, nil)
				if s.Count(admission.Ignore) != 1 || len(s.Outcomes()) != 1 {
					t.Errorf("outcomes %v, want one ignore", s.Outcomes())
				}
			})
		})
	}
}

// B37, c: an upgraded connection is the handler's, and holds no slot.
func TestUpgradedConnectionEchoes(t *testing.T) {
	for name, hijack := range map[string]func(http.ResponseWriter) (net.Conn, *bufio.ReadWriter, error){
		"type assertion": func(w http.ResponseWriter) (net.Conn, *bufio.ReadWriter, error) { return w.(http.Hijacker).Hijack() },
		"controller": func(w http.ResponseWriter) (net.Conn, *bufio.ReadWriter, error) {
			return http.NewResponseController(w).Hijack()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &spy{}
			done := make(chan struct{})
			srv, _ := serve(t, httpmw.Wrap(control(t, admission.Config{}, watched(s)), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				defer close(done)
				conn, buf, err := hijack(w)
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				_, _ = buf.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
				_ = buf.Flush()
				_, _ = io.Copy(conn, buf)
			})), false)
			conn, err := net.Dial("tcp", srv.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			in := bufio.NewReader(conn)
			resp, err := http.ReadResponse(in, nil)
			if err != nil || resp.StatusCode != 101 {
				t.Fatalf("%v, %v", resp, err)
			}
			fmt.Fprint(conn, "hello\n")
			if line, err := in.ReadString('\n'); line != "hello\n" {
				t.Errorf("%q, %v", line, err)
			}
			if s.Running() != 0 {
				t.Error("the upgraded connection holds a slot")
			}
			_ = conn.Close()
			<-done
			if s.Count(admission.Ignore) != 1 || len(s.Outcomes()) != 1 {
				t.Errorf("outcomes %v, want one ignore", s.Outcomes())
			}
		})
	}
}

// B37, d: HTTP/2 cannot be hijacked, with us as without.
func TestHijackIsRefusedAsWithoutUs(t *testing.T) {
	s := &spy{}
	srv, client := serve(t, httpmw.Wrap(control(t, admission.Config{}, watched(s)), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, ok := w.(http.Hijacker); ok {
			t.Error("a Hijacker on HTTP/2")
		}
		if _, _, err := http.NewResponseController(w).Hijack(); err == nil {
			t.Error("hijacked")
		}
	})), true)
	resp, err := client.Get(srv.URL)
	drain(t, resp, err)
	srv.Close()
	if s.Count(admission.Success) != 1 {
		t.Errorf("outcomes %v, want a success", s.Outcomes())
	}
}

// A header is not enough to be a stream: the slot of a handler that flushes is
// its own until it returns.
func TestAcceptHeaderFreesNoSlot(t *testing.T) {
	s := &spy{}
	h := httpmw.Wrap(control(t, admission.Config{}, watched(s)), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "part")
		w.(http.Flusher).Flush()
		if s.Running() != 1 {
			t.Error("the slot is gone")
		}
	}))
	get(h, "/", "Accept", "text/event-stream")
	if s.Count(admission.Success) != 1 {
		t.Errorf("outcomes %v, want a success", s.Outcomes())
	}
}

// What the user names a stream is one, whatever it sends.
func TestStreamByRoute(t *testing.T) {
	s := &spy{}
	h := httpmw.New(control(t, admission.Config{}, watched(s)), httpmw.Config{
		Stream: func(r *http.Request) bool { return r.URL.Path == "/watch" },
	})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("flush") {
			w.(http.Flusher).Flush()
			if s.Running() != 0 {
				t.Error("the stream has begun and holds its slot")
			}
		}
	}))
	for range 2 {
		get(h, "/watch")
		get(h, "/watch?flush")
	}
	if s.Count(admission.Ignore) != 4 || len(s.Outcomes()) != 1 {
		t.Errorf("outcomes %v, want four ignored", s.Outcomes())
	}
}

// In a lane of their own streams hold their slots to the end, and there are no
// more of them than its limit.
func TestStreamLaneBoundsHowManyThereAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &spy{}
		ctrl := control(t, admission.Config{Lanes: map[string]admission.LaneConfig{
			"default": pinned(1, 1), "streams": {Limit: admission.LimitConfig{Fixed: 2}, Gate: admission.GateConfig{Law: "off"}},
		}}, watched(s))
		h := httpmw.New(ctrl, httpmw.Config{StreamLane: "streams"})(events(20)) // for 1.9 s
		codes := make(chan int, 3)
		for range 3 {
			go func() { codes <- get(h, "/", "Accept", "text/event-stream; q=0.9").Code }()
		}
		time.Sleep(time.Second)
		if n := s.Running(); n != 2 {
			t.Errorf("%d streams hold a slot, want 2", n)
		}
		if code := get(httpmw.Wrap(ctrl, answering(204)), "/").Code; code != 204 {
			t.Errorf("another lane's request: %d", code)
		}
		if code := <-codes; code != 503 {
			t.Errorf("the first to end is answered %d, want 503: it never got a slot", code)
		}
		if a, b := <-codes, <-codes; a != 200 || b != 200 {
			t.Errorf("the streams got %d and %d", a, b)
		}
		if s.Count(admission.Ignore) < 2 || s.Count(admission.Success) != 1 {
			t.Errorf("outcomes %v", s.Outcomes())
		}
	})
}

func TestUpgradeHeaderGoesToTheStreamLane(t *testing.T) {
	s := &spy{}
	ctrl := control(t, admission.Config{Lanes: map[string]admission.LaneConfig{"default": {}, "streams": {}}}, watched(s))
	h := httpmw.New(ctrl, httpmw.Config{StreamLane: "streams"})(answering(200))
	for _, c := range []struct{ name, value, want string }{
		{"Upgrade", "websocket", "streams"},
		{"Accept", "text/html, Text/Event-Stream", "streams"},
		{"Accept", "text/html", "default"},
		{"Accept", `x/y;v="a,text/event-stream"`, "default"},
	} {
		get(h, "/", c.name, c.value)
		got := s.Last().Lane
		if got == "" {
			got = "default"
		}
		if got != c.want {
			t.Errorf("%s: %s goes to lane %q, want %q", c.name, c.value, got, c.want)
		}
	}
}

// hidden is a middleware's writer that can only be unwrapped, so that
// http.ResponseController passes our own by.
type hidden struct{ w http.ResponseWriter }

func (h hidden) Header() http.Header         { return h.w.Header() }
func (h hidden) Write(b []byte) (int, error) { return h.w.Write(b) }
func (h hidden) WriteHeader(status int)      { h.w.WriteHeader(status) }
func (h hidden) Unwrap() http.ResponseWriter { return h.w }

func TestStreamBehindAnUnwrappedWriterIsNoSample(t *testing.T) {
	s := &spy{}
	h := httpmw.Wrap(control(t, admission.Config{}, watched(s)), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("Accept"), "text/event-stream") {
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		}
		_ = http.NewResponseController(w).Flush()
	}))
	for _, header := range [][2]string{{"Accept", "text/event-stream"}, {"Upgrade", "websocket"}} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set(header[0], header[1])
		h.ServeHTTP(hidden{httptest.NewRecorder()}, r)
	}
	if s.Count(admission.Ignore) != 2 || len(s.Outcomes()) != 1 {
		t.Errorf("outcomes %v, want two ignored", s.Outcomes())
	}
}

// A stream that holds a slot is one to the controller too: its deadline that
// passes while it runs is no sign of overload.
func TestHeldStreamsAreNoSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &spy{}
		cfg := tuned(5)
		cfg.Lanes["streams"] = admission.LaneConfig{Limit: admission.LimitConfig{Initial: 5}, Deadline: time.Second}
		ctrl := control(t, cfg, watched(s))
		h := httpmw.New(ctrl, httpmw.Config{StreamLane: "streams"})(events(50)) // 5 s
		get(h, "/", "Accept", "text/event-stream")
		l, _ := ctrl.Stats().Lane("streams")
		if !s.Last().Stream || l.Service.Total() != 0 || l.Limit < 5 {
			t.Errorf("stream %v, %d samples, limit %d, which was 5: %s", s.Last().Stream, l.Service.Total(), l.Limit, l.LimitWhy)
		}
	})
}
