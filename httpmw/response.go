package httpmw

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"

	"github.com/felixge/httpsnoop"

	"github.com/spillway-go/spillway/admission"
)

// response watches how an admitted request is answered. Like the ResponseWriter
// it watches it is for one goroutine at a time.
type response struct {
	ticket admission.Ticket
	header http.Header // the response's; asked for again once it is sent, net/http would clone it
	status int         // the first final one sent; 0: none yet
	stream bool        // long-lived: never a sample
	hold   bool        // a stream that keeps its slot to the end
}

// run serves an admitted request and releases its ticket when the handler is
// done, however it ends.
func (h *handler) run(w http.ResponseWriter, r *http.Request, s *response) {
	outcome := admission.Failure // what a panic or runtime.Goexit leaves; no recover, so both pass untouched
	defer func() {
		if s.stream {
			outcome = admission.Ignore
		}
		s.ticket.Release(outcome)
	}()
	s.header = w.Header()
	h.next.ServeHTTP(s.watch(w), r)
	// A writer outside ours that can only be unwrapped lets Hijack and Flush pass
	// us by: the slot is then kept too long, but still no sample is made.
	s.stream = s.stream || sendsEvents(s.header) || s.status == 0 && len(r.Header["Upgrade"]) > 0
	if !s.stream {
		outcome = h.cfg.Outcome(s.final(), r.Context().Err())
	}
}

// outcomeOf is the default of [Config.Outcome].
func outcomeOf(status int, err error) admission.Outcome {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return admission.Overload
	case err != nil:
		return admission.Ignore
	case status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout:
		return admission.Overload
	case status >= http.StatusInternalServerError:
		return admission.Failure
	}
	return admission.Success
}

// final is the status the client gets.
func (s *response) final() int {
	if s.status == 0 {
		return http.StatusOK // net/http sends it for a silent handler
	}
	return s.status
}

// sent notes a status that went out. Informational ones come before the final
// one and do not count; 101 is final.
func (s *response) sent(status int) {
	if s.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		s.status = status
	}
}

// begin notes that the response has turned into a stream, and gives the slot
// back unless it is to be held.
func (s *response) begin() {
	s.stream = true
	if !s.hold {
		s.ticket.Release(admission.Ignore)
	}
}

// watch returns w with all the optional interfaces it has and no others. Every
// way to send the header has its hook, since each makes a later WriteHeader
// count for nothing.
func (s *response) watch(w http.ResponseWriter) http.ResponseWriter {
	return httpsnoop.Wrap(w, httpsnoop.Hooks{
		WriteHeader: func(next httpsnoop.WriteHeaderFunc) httpsnoop.WriteHeaderFunc {
			return func(status int) {
				next(status)
				s.sent(status)
			}
		},
		Write: func(next httpsnoop.WriteFunc) httpsnoop.WriteFunc {
			return func(b []byte) (int, error) {
				s.sent(http.StatusOK)
				return next(b)
			}
		},
		WriteString: func(next httpsnoop.WriteStringFunc) httpsnoop.WriteStringFunc {
			return func(b string) (int, error) {
				s.sent(http.StatusOK)
				return next(b)
			}
		},
		ReadFrom: func(next httpsnoop.ReadFromFunc) httpsnoop.ReadFromFunc {
			return func(src io.Reader) (int64, error) {
				s.sent(http.StatusOK)
				return next(src)
			}
		},
		Flush: func(next httpsnoop.FlushFunc) httpsnoop.FlushFunc {
			return func() {
				s.sent(http.StatusOK)
				if s.stream || sendsEvents(s.header) {
					s.begin() // first: a client that does not read blocks the flush
				}
				next()
			}
		},
		Hijack: func(next httpsnoop.HijackFunc) httpsnoop.HijackFunc {
			return func() (net.Conn, *bufio.ReadWriter, error) {
				conn, buf, err := next()
				if err == nil {
					s.begin()
				}
				return conn, buf, err
			}
		},
	})
}
