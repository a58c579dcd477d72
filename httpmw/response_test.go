package httpmw_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/felixge/httpsnoop"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/httpmw"
)

func TestOutcomeOfStatusAndContext(t *testing.T) {
	write := func(w http.ResponseWriter) { _, _ = io.WriteString(w, "x") }
	for name, c := range map[string]struct {
		handle func(w http.ResponseWriter)
		ended  error // how the context ended meanwhile
		want   admission.Outcome
	}{
		"silent":                 {func(http.ResponseWriter) {}, nil, admission.Success},
		"written without header": {write, nil, admission.Success},
		"200":                    {func(w http.ResponseWriter) { w.WriteHeader(200) }, nil, admission.Success},
		"404":                    {func(w http.ResponseWriter) { w.WriteHeader(404) }, nil, admission.Success},
		"429 of the handler":     {func(w http.ResponseWriter) { w.WriteHeader(429) }, nil, admission.Success},
		"500":                    {func(w http.ResponseWriter) { w.WriteHeader(500) }, nil, admission.Failure},
		"502":                    {func(w http.ResponseWriter) { w.WriteHeader(502) }, nil, admission.Failure},
		"503":                    {func(w http.ResponseWriter) { w.WriteHeader(503) }, nil, admission.Overload},
		"504":                    {func(w http.ResponseWriter) { w.WriteHeader(504) }, nil, admission.Overload},
		"503 after 200":          {func(w http.ResponseWriter) { w.WriteHeader(200); w.WriteHeader(503) }, nil, admission.Success},
		"503 after the body":     {func(w http.ResponseWriter) { write(w); w.WriteHeader(503) }, nil, admission.Success},
		"200 after 503":          {func(w http.ResponseWriter) { w.WriteHeader(503); w.WriteHeader(200) }, nil, admission.Overload},
		"503 after 103":          {func(w http.ResponseWriter) { w.WriteHeader(103); w.WriteHeader(503) }, nil, admission.Overload},
		"503 after a flush":      {func(w http.ResponseWriter) { w.(http.Flusher).Flush(); w.WriteHeader(503) }, nil, admission.Success},
		"client gone":            {func(http.ResponseWriter) {}, context.Canceled, admission.Ignore},
		"client gone, 503":       {func(w http.ResponseWriter) { w.WriteHeader(503) }, context.Canceled, admission.Ignore},
		"too late, 200":          {write, context.DeadlineExceeded, admission.Overload},
		"too late, 500":          {func(w http.ResponseWriter) { w.WriteHeader(500) }, context.DeadlineExceeded, admission.Overload},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &spy{}
				ctx, cancel := context.WithCancel(context.Background())
				if c.ended == context.DeadlineExceeded {
					ctx, cancel = context.WithTimeout(context.Background(), 20*time.Millisecond)
				}
				defer cancel()
				h := httpmw.Wrap(control(t, admission.Config{}, watched(s)), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					c.handle(w)
					if c.ended == context.Canceled {
						cancel()
					}
					if c.ended != nil {
						<-r.Context().Done()
					}
				}))
				h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/", nil))
				if s.Count(c.want) != 1 || len(s.Outcomes()) != 1 {
					t.Errorf("outcomes %v, want one %v", s.Outcomes(), c.want)
				}
			})
		})
	}
}

func TestOutcomeCanBeReplaced(t *testing.T) {
	s := &spy{}
	var status int
	h := httpmw.New(control(t, admission.Config{}, watched(s)), httpmw.Config{
		Outcome: func(code int, _ error) admission.Outcome {
			status = code
			return admission.Overload
		},
	})(answering(http.StatusTooManyRequests))
	get(h, "/")
	if status != 429 || s.Count(admission.Overload) != 1 {
		t.Errorf("asked about %d, outcomes %v", status, s.Outcomes())
	}
}

// The deadline of a header reaches the handler, and a handler that overruns it
// is a sign of overload.
func TestDeadlineHeaderShortensTheContext(t *testing.T) {
	for name, c := range map[string]struct {
		names  []string
		sent   string
		parent time.Duration // 0: no deadline of its own
		want   time.Duration // 0: none
	}{
		"not asked for":      {nil, "50ms", 0, 0},
		"asked for":          {[]string{"x-request-timeout"}, "50ms", 0, 50 * time.Millisecond},
		"malformed":          {[]string{"x-request-timeout"}, "50", 0, 0},
		"never lengthens":    {[]string{"x-request-timeout"}, "5m", time.Minute, time.Minute},
		"shortens a present": {[]string{"x-request-timeout"}, "5s", time.Minute, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var left time.Duration
				h := httpmw.New(control(t, admission.Config{}), httpmw.Config{Headers: httpmw.Headers{Deadlines: c.names}})(
					http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
						if d, ok := r.Context().Deadline(); ok {
							left = time.Until(d)
						}
					}))
				r := httptest.NewRequest("GET", "/", nil)
				if c.parent > 0 {
					ctx, cancel := context.WithTimeout(r.Context(), c.parent)
					defer cancel()
					r = r.WithContext(ctx)
				}
				r.Header.Set("X-Request-Timeout", c.sent)
				h.ServeHTTP(httptest.NewRecorder(), r)
				if left != c.want {
					t.Errorf("%v left, want %v", left, c.want)
				}
			})
		})
	}
}

// bareWriter has none of the optional interfaces.
type bareWriter struct{ http.ResponseWriter }

// B37, a: what the server's writer can do the handler's can do, and no more.
func TestWriterKeepsItsOptionalInterfaces(t *testing.T) {
	abilities := func(w http.ResponseWriter) string {
		_, flusher := w.(http.Flusher)
		_, flushError := w.(interface{ FlushError() error })
		_, hijacker := w.(http.Hijacker)
		_, readerFrom := w.(io.ReaderFrom)
		_, pusher := w.(http.Pusher)
		_, stringWriter := w.(io.StringWriter)
		_, deadlines := w.(interface{ SetWriteDeadline(time.Time) error })
		_, duplex := w.(interface{ EnableFullDuplex() error })
		return fmt.Sprint("flush ", flusher, flushError, " hijack ", hijacker, " readfrom ", readerFrom,
			" push ", pusher, " string ", stringWriter, " deadlines ", deadlines, " duplex ", duplex)
	}
	controls := func(w http.ResponseWriter) string {
		c := http.NewResponseController(w)
		return fmt.Sprint(c.SetWriteDeadline(time.Time{}), c.SetReadDeadline(time.Time{}), c.EnableFullDuplex(), c.Flush())
	}
	seen := make(chan string, 1)
	report := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s := abilities(w)
		seen <- s + controls(w)
	})
	mw := httpmw.New(control(t, admission.Config{}), httpmw.Config{})
	ask := func(t *testing.T, h http.Handler, http2 bool) string {
		srv, client := serve(t, h, http2)
		resp, err := client.Get(srv.URL)
		drain(t, resp, err)
		return <-seen
	}
	for name, http2 := range protocols {
		t.Run(name, func(t *testing.T) {
			if bare, ours := ask(t, report, http2), ask(t, mw(report), http2); bare != ours {
				t.Errorf("without us %s\nwith us    %s", bare, ours)
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		mw(report).ServeHTTP(bareWriter{httptest.NewRecorder()}, httptest.NewRequest("GET", "/", nil))
		if got := <-seen; strings.Contains(got, "true") {
			t.Error(got)
		}
	})
	t.Run("combinations", func(t *testing.T) {
		// A writer of just one ability at a time, made by the library that wraps.
		for i, w := range []http.ResponseWriter{
			struct {
				http.ResponseWriter
				http.Flusher
			}{ResponseWriter: httptest.NewRecorder(), Flusher: httptest.NewRecorder()},
			struct {
				http.ResponseWriter
				io.ReaderFrom
			}{ResponseWriter: httptest.NewRecorder()},
			struct {
				http.ResponseWriter
				http.Pusher
			}{ResponseWriter: httptest.NewRecorder()},
			struct {
				http.ResponseWriter
				http.Hijacker
				io.StringWriter
			}{ResponseWriter: httptest.NewRecorder()},
		} {
			mw(http.HandlerFunc(func(ours http.ResponseWriter, _ *http.Request) {
				if httpsnoop.Unwrap(ours) == ours {
					t.Errorf("%d: the writer is not watched", i)
				}
				if got, want := abilities(ours), abilities(w); got != want {
					t.Errorf("%d: %s\nwant %s", i, got, want)
				}
			})).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		}
	})
}

// B37, e: the first status is the one sent and the one recorded, informational
// ones before it go out and do not count.
func TestFirstStatusIsSentAndRecorded(t *testing.T) {
	for name, http2 := range protocols {
		t.Run(name, func(t *testing.T) {
			s := &spy{}
			var status int
			srv, client := serve(t, httpmw.New(control(t, admission.Config{}, watched(s)), httpmw.Config{
				Outcome: func(code int, _ error) admission.Outcome {
					status = code
					return admission.Success
				},
			})(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Link", "</style.css>; rel=preload")
				w.WriteHeader(http.StatusEarlyHints)
				w.WriteHeader(http.StatusCreated)
				w.WriteHeader(http.StatusServiceUnavailable)
			})), http2)
			hints := 0
			ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
				Got1xxResponse: func(code int, _ textproto.MIMEHeader) error { hints = code; return nil },
			})
			req, _ := http.NewRequestWithContext(ctx, "GET", srv.URL, nil)
			resp, err := client.Do(req)
			code, _ := drain(t, resp, err)
			if hints != 103 || code != 201 {
				t.Errorf("the client saw %d and %d, want 103 and 201", hints, code)
			}
			srv.Close() // waits for the handler
			if status != 201 {
				t.Errorf("recorded %d, want 201", status)
			}
		})
	}
}

// Large bodies still take the fast way from a file or a reader.
func TestReadFromAndWriteStringReachTheServer(t *testing.T) {
	srv, client := serve(t, httpmw.Wrap(control(t, admission.Config{}), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "one ")
		_, _ = w.(io.ReaderFrom).ReadFrom(strings.NewReader("two "))
		_, _ = w.Write([]byte("three"))
	})), false)
	resp, err := client.Get(srv.URL)
	if _, body := drain(t, resp, err); body != "one two three" {
		t.Errorf("body %q", body)
	}
}
