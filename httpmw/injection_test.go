package httpmw_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/httpmw"
)

// nasty is what ends a line, a string, a header or a body for whoever writes it down as
// it came, with a mark to find it by.
const nasty = "MARK\r\nSet-Cookie: MARK=1\r\n\r\n<script>\"'\\\x00\x1b[2J\u2028\xff"

// Whatever a request's names and a stage's error are made of, the bytes of a refusal are
// the same: neither its header nor its body has anything of them.
func TestNothingIsInjectedIntoARefusal(t *testing.T) {
	names := admission.Request{Tenant: nasty, Caller: nasty, Op: nasty, Key: nasty}
	refusal := &admission.ShedError{Reason: admission.ReasonStage, Stage: nasty, Lane: nasty, Err: errors.New(nasty), RetryAfter: time.Second}
	for reason := range admission.NumReasons + 3 {
		e := *refusal
		e.Reason = reason // the last ones are none
		h := httpmw.New(control(t, admission.Config{}, watched(&spy{Verdict: shedding(&e)})), httpmw.Config{
			Classify:     func(*http.Request) admission.Request { return names },
			ReasonHeader: "X-Reason", NoRetryHeader: "X-No-Retry",
		})(answering(200))
		srv, _ := serve(t, h, false)
		for _, accept := range []string{"application/json", "text/plain"} {
			conn, err := net.Dial("tcp", srv.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept: "+accept+"\r\n\r\n")
			answer, err := io.ReadAll(conn)
			conn.Close()
			head, body, _ := bytes.Cut(answer, []byte("\r\n\r\n"))
			if err != nil || !bytes.HasPrefix(head, []byte("HTTP/1.1 ")) || bytes.Contains(answer, []byte("MARK")) {
				t.Fatalf("reason %d: answered %q, %v", reason, answer, err)
			}
			for line := range strings.SplitSeq(string(head), "\r\n") {
				name, _, _ := strings.Cut(line, ":")
				if known := []string{"Cache-Control", "Content-Length", "Content-Type", "Date", "Retry-After", "X-Reason", "X-No-Retry", "Connection"}; !slices.Contains(known, name) && !strings.HasPrefix(name, "HTTP/1.1 ") {
					t.Errorf("reason %d: header %q", reason, line)
				}
			}
			if accept == "application/json" && !json.Valid(body) {
				t.Errorf("reason %d: body %q is no JSON", reason, body)
			}
		}
	}
}

// A lane of that name is no lane: the answer says nothing of it, and the log keeps to
// its line.
func TestNothingIsInjectedIntoTheLog(t *testing.T) {
	var log bytes.Buffer
	h := httpmw.New(control(t, admission.Config{}), httpmw.Config{
		Classify: func(*http.Request) admission.Request { return admission.Request{Lane: nasty} },
		Logger:   slog.New(slog.NewTextHandler(&log, nil)),
	})(answering(200))
	w := get(h, "/")
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "MARK") || len(w.Result().Cookies()) > 0 {
		t.Errorf("answered %d %q", w.Code, w.Body)
	}
	if text := log.String(); strings.Count(text, "\n") != 1 || strings.ContainsAny(text, "\x00\x1b\r") || !strings.Contains(text, "MARK") {
		t.Errorf("logged %q", text)
	}
}
