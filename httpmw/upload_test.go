package httpmw_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/httpmw"
)

var full = &admission.ShedError{Reason: admission.ReasonQueueFull, RetryAfter: time.Second}

// slowly is a body that sends a byte a second until it is done.
type slowly struct{ done chan struct{} }

func (s slowly) Read(b []byte) (int, error) {
	select {
	case <-time.After(time.Second):
		b[0] = 'x'
		return 1, nil
	case <-s.done:
		return 0, io.ErrClosedPipe
	}
}

// A slow upload hears of its refusal at once, not when it is through, whatever a
// handler outside has made of its body.
func TestSlowUploadIsToldAtOnce(t *testing.T) {
	outside := map[string]func(w http.ResponseWriter, r *http.Request){
		"untouched": func(http.ResponseWriter, *http.Request) {},
		"bounded":   func(w http.ResponseWriter, r *http.Request) { r.Body = http.MaxBytesReader(w, r.Body, 1<<20) },
		"begun":     func(_ http.ResponseWriter, r *http.Request) { _, _ = io.ReadFull(r.Body, make([]byte, 1)) },
	}
	for name, http2 := range protocols {
		for what, touch := range outside {
			t.Run(name+" "+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					inner := shedder(t, full, httpmw.Config{})
					var came time.Time
					_, client := serveInBubble(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						touch(w, r)
						came = time.Now()
						inner.ServeHTTP(w, r)
					}), http2)
					body := slowly{make(chan struct{})}
					defer close(body.done)
					req, _ := http.NewRequest("POST", "http://test/", body)
					req.ContentLength = 600
					resp, err := client.Do(req)
					took := time.Since(came) // the client's own Close may wait for the body
					status, text := drain(t, resp, err)
					if status != 503 || !strings.Contains(text, "queue-full") || took > 50*time.Millisecond {
						t.Errorf("%d %s after %v", status, text, took)
					}
				})
			})
		}
	}
}

// Who asks before he sends is told without having sent anything.
func TestExpectingClientSendsNoBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client := serveInBubble(t, shedder(t, full, httpmw.Config{}), false)
		client.Transport.(*http.Transport).ExpectContinueTimeout = time.Minute
		body := strings.NewReader("never sent")
		req, _ := http.NewRequest("POST", "http://test/", io.NopCloser(body))
		req.ContentLength = int64(body.Len())
		req.Header.Set("Expect", "100-continue")
		start := time.Now()
		resp, err := client.Do(req)
		if status, _ := drain(t, resp, err); status != 503 || time.Since(start) > 0 || body.Len() != len("never sent") {
			t.Errorf("%d after %v, %d bytes unsent", status, time.Since(start), body.Len())
		}
	})
}

// A body that is too long to be read to its end costs the connection, as without
// us, and still gets its answer.
func TestLongUploadIsAnsweredAndCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client := serveInBubble(t, shedder(t, full, httpmw.Config{}), false)
		for range 2 {
			req, _ := http.NewRequest("POST", "http://test/", bytes.NewReader(make([]byte, 2<<20)))
			if send(t, client, req) {
				t.Error("the connection was used before")
			}
		}
	})
}

// The same over a real socket, byte for byte.
func TestSlowUploadOnASocket(t *testing.T) {
	srv, _ := serve(t, shedder(t, full, httpmw.Config{}), false)
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 100000\r\n\r\nonly the beginning")
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	status, _ := drain(t, resp, err)
	if status != 503 || !resp.Close {
		t.Errorf("status %d, close %v, want 503 and the connection closed: its body is still to come", status, resp.Close)
	}
}

// A body that is through leaves the connection alive, and the time it was given
// does not outlive the request.
func TestConnectionSurvivesARefusedBody(t *testing.T) {
	bodies := map[string]func() io.Reader{
		"none":    func() io.Reader { return nil },
		"1 kB":    func() io.Reader { return bytes.NewReader(make([]byte, 1000)) },
		"100 kB":  func() io.Reader { return bytes.NewReader(make([]byte, 100_000)) },
		"chunked": func() io.Reader { return io.MultiReader(strings.NewReader("of unknown length")) },
	}
	for name, http2 := range protocols {
		for size, body := range bodies {
			t.Run(name+" "+size, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					_, client := serveInBubble(t, shedder(t, full, httpmw.Config{}), http2)
					for i, idle := range []time.Duration{0, 0, 10 * time.Millisecond, 70 * time.Millisecond, time.Minute} {
						time.Sleep(idle)
						req, _ := http.NewRequest("POST", "http://test/", body())
						if reused := send(t, client, req); reused != (i > 0) {
							t.Fatalf("request %d, idle for %v before: connection reused is %v", i, idle, reused)
						}
					}
				})
			})
		}
	}
}

// A handler outside may take its time after the refusal, and may have read the
// body already.
func TestConnectionSurvivesASlowHandlerOutside(t *testing.T) {
	for name, read := range map[string]bool{"body read": true, "body unread": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := shedder(t, full, httpmw.Config{})
				_, client := serveInBubble(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if read {
						_, _ = io.Copy(io.Discard, r.Body)
					}
					inner.ServeHTTP(w, r)
					time.Sleep(200 * time.Millisecond)
				}), false)
				for i := range 3 {
					req, _ := http.NewRequest("POST", "http://test/", strings.NewReader("small"))
					if reused := send(t, client, req); reused != (i > 0) {
						t.Fatalf("request %d: connection reused is %v", i, reused)
					}
				}
			})
		})
	}
}

// On HTTP/2 a refusal costs no connection either: one handshake for all.
func TestRefusalsShareOneConnection(t *testing.T) {
	for name, http2 := range protocols {
		t.Run(name, func(t *testing.T) {
			srv, client := serve(t, shedder(t, full, httpmw.Config{}), http2)
			for i := range 5 {
				req, _ := http.NewRequest("POST", srv.URL, strings.NewReader("small"))
				if reused := send(t, client, req); reused != (i > 0) {
					t.Errorf("request %d: connection reused is %v", i, reused)
				}
			}
		})
	}
}

// send expects a 503 and tells whether the connection had been used before.
func send(t *testing.T, client *http.Client, req *http.Request) (reused bool) {
	t.Helper()
	trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }}
	resp, err := client.Do(req.WithContext(httptrace.WithClientTrace(context.Background(), trace)))
	if status, _ := drain(t, resp, err); status != http.StatusServiceUnavailable {
		t.Fatalf("status %d", status)
	}
	return reused
}
