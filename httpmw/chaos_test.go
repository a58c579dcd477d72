package httpmw_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/httpmw"
)

// Clients and handlers of every bad habit, on HTTP/1 and HTTP/2; in the end no
// slot is lost and a decent request is served.
func TestHTTPChaos(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		t.Run(fmt.Sprint("h2=", h2), func(t *testing.T) { httpChaos(t, h2) })
	}
}

func httpChaos(t *testing.T, h2 bool) {
	ctrl, err := admission.New(admission.Config{Lanes: map[string]admission.LaneConfig{
		"default": {Limit: admission.LimitConfig{Fixed: 4}}, "streams": {Limit: admission.LimitConfig{Fixed: 2}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer ctrl.Close()
	inner := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch rand.IntN(14) {
		case 0:
			panic("x")
		case 1:
			panic(http.ErrAbortHandler)
		case 2:
			runtime.Goexit()
		case 3:
			if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
				conn.Close()
			}
		case 4:
			w.Header().Set("Content-Type", "text/event-stream")
			for range 5 {
				fmt.Fprint(w, "data: x\n\n")
				_ = http.NewResponseController(w).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(2 * time.Millisecond):
				}
			}
		case 5:
			_, _ = io.Copy(w, r.Body)
		case 6:
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(503)
		case 7:
			_ = http.NewResponseController(w).EnableFullDuplex()
			_, _ = io.Copy(w, r.Body)
		case 8:
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now())
			_, _ = w.Write(bytes.Repeat([]byte("x"), 1<<20))
		default:
			time.Sleep(time.Duration(rand.IntN(4)) * time.Millisecond)
			_, _ = io.WriteString(w, "ok")
		}
	})
	mw := httpmw.New(ctrl, httpmw.Config{StreamLane: "streams", Headers: httpmw.Headers{
		Urgency: true, Priority: "X-Priority", Deadlines: []string{"Grpc-Timeout", "X-Timeout-Ms", "X-Request-Timeout"},
	}})
	srv := httptest.NewUnstartedServer(mw(inner))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.EnableHTTP2 = h2
	if h2 {
		srv.StartTLS()
	} else {
		srv.Start()
	}
	defer srv.Close()
	client := srv.Client()
	values := []string{"", "t0", "t9/1", "u=0, i", `u="`, `"\`, strings.Repeat("u=1,", 10000), "1n", "99999999H", "-5", "0", "1.5s", strings.Repeat("9", 500)}
	pick := func() string { return values[rand.IntN(len(values))] }
	var wg sync.WaitGroup
	end := time.Now().Add(4 * time.Second)
	for range 24 {
		wg.Go(func() {
			for time.Now().Before(end) {
				if !h2 && rand.IntN(3) == 0 {
					raw(srv.Listener.Addr().String())
					continue
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(20000))*time.Microsecond)
				var body io.Reader
				switch rand.IntN(4) {
				case 0:
					body = strings.NewReader(strings.Repeat("b", rand.IntN(600_000)))
				case 1:
					pr, pw := io.Pipe()
					body = pr
					go func() {
						for ctx.Err() == nil {
							time.Sleep(time.Millisecond)
							if _, err := pw.Write([]byte("slow")); err != nil {
								return
							}
						}
						pw.CloseWithError(io.ErrUnexpectedEOF)
					}()
				}
				req, _ := http.NewRequestWithContext(ctx, []string{"GET", "POST", "HEAD"}[rand.IntN(3)], srv.URL+"/x", body)
				for _, name := range []string{"Priority", "X-Priority", "Grpc-Timeout", "X-Timeout-Ms", "X-Request-Timeout", "Accept"} {
					if rand.IntN(3) == 0 {
						req.Header.Set(name, pick())
					}
				}
				if rand.IntN(4) == 0 {
					req.Header.Set("Expect", "100-continue")
				}
				if !h2 && rand.IntN(8) == 0 {
					req.Header.Set("Upgrade", "websocket")
				}
				if rand.IntN(8) == 0 {
					req.Header.Set("Accept", "text/event-stream")
				}
				if resp, err := client.Do(req); err == nil {
					if rand.IntN(2) == 0 {
						_, _ = io.Copy(io.Discard, resp.Body)
					}
					resp.Body.Close()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	client.CloseIdleConnections()
	for wait := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		busy := 0
		for _, l := range ctrl.Stats().Lanes {
			busy += l.Inflight
			for _, q := range l.Queued {
				busy += q
			}
		}
		if busy == 0 {
			break
		}
		if time.Now().After(wait) {
			buf := make([]byte, 1<<20)
			t.Fatalf("%d are still in\n%s", busy, buf[:runtime.Stack(buf, true)])
		}
	}
	l, _ := ctrl.Stats().Lane("")
	t.Logf("%+v", l.Tiers)
	served := 0
	for range 100 {
		if resp, err := client.Get(srv.URL + "/y"); err == nil {
			if resp.StatusCode == 200 {
				served++
			}
			resp.Body.Close()
		}
		time.Sleep(time.Millisecond)
	}
	t.Logf("served %d of 100", served)
	if served < 20 {
		t.Errorf("served %d", served)
	}
}

// raw speaks HTTP/1 badly: pipelines, breaks off, sends bodies late.
func raw(addr string) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(300 * time.Millisecond))
	switch rand.IntN(5) {
	case 0:
		fmt.Fprint(conn, strings.Repeat("GET /a HTTP/1.1\r\nHost: x\r\n\r\n", 5))
	case 1:
		fmt.Fprint(conn, strings.Repeat("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", 5))
	case 2:
		fmt.Fprint(conn, "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 500000\r\n\r\nhel")
	case 3:
		fmt.Fprint(conn, "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n5\r\nhello\r\nzz\r\n")
	case 4:
		fmt.Fprint(conn, "GET /a HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nConnection: upgrade\r\nAccept: text/event-stream;q=\"\r\n\r\n")
		return
	}
	br := bufio.NewReader(conn)
	for {
		if _, err := br.ReadByte(); err != nil {
			return
		}
	}
}

var _ = tls.Config{}
