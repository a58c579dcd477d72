package httpmw

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/spillway-go/spillway/admission"
)

// Config says how requests are described to the controller and how the shed ones
// are answered. The zero Config works. It is read by [New] and not afterwards.
// Its functions are called at most once per request, from many goroutines at
// once; a panic in one goes on to the server and leaves nothing taken.
type Config struct {
	// Classify describes a request. What it leaves empty is filled in: Op from
	// the route, Bytes from Content-Length or UnsizedBytes, and Priority, Tenant, Caller and
	// Attempt from Headers. Nil: all of it is filled in.
	Classify func(*http.Request) admission.Request

	// UnsizedBytes is what a body counts as, for guards that count bytes, whose
	// length is not declared: chunked, or on HTTP/2 without Content-Length. It
	// should be what the handler reads of a body at most, and be enforced around
	// the handler by [http.MaxBytesHandler], which this middleware does not do.
	// Zero: such a body counts as none however long it is, and whoever sends one
	// gets past the guard. Negative is invalid.
	UnsizedBytes int64

	// Mux is the mux inside this middleware, asked for the route when the
	// request carries none yet. The route is Request.Op: the pattern, never the
	// path; "other" where neither is known. Nil: only http.Request.Pattern is
	// looked at, which a mux outside sets.
	Mux *http.ServeMux

	// Exempt picks the requests that are only counted: never shed, no slot, no
	// sample. Whatever it lets through is unprotected, so it should not look at
	// what a stranger can send along. Nil: [IsProbe].
	Exempt func(*http.Request) bool

	// Headers are the headers that are looked at. None by default.
	Headers Headers

	// Stream picks requests that live long, best by their route. They are never a
	// sample and give their slot back at the first flush, whatever they send.
	// Hijacked connections and responses of type text/event-stream are streams
	// in any case. Nil: no more than those, or, where StreamLane is set, requests
	// with an Upgrade header or an Accept of text/event-stream.
	Stream func(*http.Request) bool

	// StreamLane is a lane of the controller in which the requests that Stream
	// picks hold a slot until their handler returns. Strangers choose what the
	// default Stream picks, so with it the lane needs a low limit. Empty: they
	// go where others go.
	StreamLane string

	// Outcome says how a request came out. status is the first final one sent,
	// 200 if the handler sent none. err is nil, [context.Canceled] when the
	// client left, or [context.DeadlineExceeded] when the deadline of the
	// request's context has passed. It is not asked about panics and streams.
	// Nil: the rule in the package comment.
	Outcome func(status int, err error) admission.Outcome

	// Reject answers a shed request instead of this package: status, headers and
	// body are its own. The error is shared and must not be changed.
	Reject func(http.ResponseWriter, *http.Request, *admission.ShedError)

	// NoRetryHeader names a header sent with the value "true" when a retry would
	// do no good: every 429, and where the controller says so.
	// "X-Envoy-Ratelimited" keeps Envoy from retrying. Empty: none.
	NoRetryHeader string

	// ReasonHeader names a header that carries the reason, such as
	// "X-Admission-Reason". Empty: none; the body has it anyway.
	ReasonHeader string

	// LoadHeader adds the header endpoint-load-metrics to every answer but those
	// to exempt requests: what [admission.Controller.LoadReport] tells, in
	// ORCA's text format, from which a proxy such as Envoy weighs replicas. It
	// tells a stranger how busy the replica is: let the proxy remove it.
	LoadHeader bool

	// Logger hears of mistakes in the program: an invalid Config, a nil handler,
	// and the first invalid description. Never of load. Nil: [slog.Default],
	// because an answer of 500 that nobody explains helps nobody.
	Logger *slog.Logger
}

// Headers names the headers that may describe a request, each "" for none. A
// header that is malformed, or there more than once, counts as absent. Nothing
// that Classify has set is overridden.
type Headers struct {
	// Trusted tells whether what a request's headers say is to be believed. It
	// must go by what the sender cannot choose: a verified client certificate,
	// the peer's address, the listener it came in by. Nil: nobody is trusted.
	Trusted func(*http.Request) bool

	// Priority is a header of the form that [admission.ParsePriority] reads,
	// "t1" or "t1/37". From those not trusted it is clamped by
	// [admission.Controller.Untrusted] and loses its cohort: they can step back,
	// not forward, nor to the front of a tier.
	Priority string

	// Urgency reads the u parameter of the Priority header of RFC 9218 (u=0
	// most urgent, 3 usual, 7 background) as tiers t1 to t5, where the header
	// named by Priority says nothing, and clamped like it. The RFC means it for
	// the order of responses; to shed by it is an extension of that.
	Urgency bool

	// Tenant and Caller are believed of the trusted only: who may choose the
	// tenant evades its cap.
	Tenant, Caller string

	// Attempt counts tries from 1, as X-Envoy-Attempt-Count does. Believed of
	// the trusted only.
	Attempt string

	// Deadlines name headers that say how long the caller will wait. They
	// shorten the deadline of the request's context, whoever sends them, and
	// never lengthen it; the shortest counts. The name tells the form:
	// Grpc-Timeout has that of gRPC ("250m"); a name that ends in -Ms, such as
	// Connect-Timeout-Ms or X-Envoy-Expected-Rq-Timeout-Ms, is in milliseconds;
	// all others, such as X-Request-Timeout, carry a unit ("1.5s", "250ms"),
	// and a bare number is malformed. The handler of such a request gets a copy
	// of it, on which a mux inside sets its Pattern.
	Deadlines []string

	// MinDeadline and MaxDeadline bound what Deadlines say; zero: 1 ms and 1 h.
	// A request that times out counts as Overload. Where strangers may send
	// deadlines, set MinDeadline to what a healthy request takes, or they can
	// push the limit down with deadlines that nothing can meet.
	MinDeadline, MaxDeadline time.Duration
}

const (
	defaultMinDeadline = time.Millisecond
	defaultMaxDeadline = time.Hour
)

// Validate returns nil, or all problems at once, joined, each naming the field,
// its value and the rule. [New] cannot return an error: it logs this one and goes
// on as if the fields at fault were empty. Whether StreamLane exists only the
// controller knows.
func (c Config) Validate() error {
	_, err := c.checked()
	return err
}

// checked returns c without the fields at fault, its defaults filled in.
func (c Config) checked() (Config, error) {
	var errs []error
	name := func(field string, v *string) {
		if *v != "" && !isToken(*v) {
			errs = append(errs, fmt.Errorf("httpmw: %s is %.32q, must be a header name", field, *v))
			*v = ""
		}
		*v = http.CanonicalHeaderKey(*v)
	}
	h := &c.Headers
	name("NoRetryHeader", &c.NoRetryHeader)
	name("ReasonHeader", &c.ReasonHeader)
	name("Headers.Priority", &h.Priority)
	name("Headers.Tenant", &h.Tenant)
	name("Headers.Caller", &h.Caller)
	name("Headers.Attempt", &h.Attempt)

	var deadlines []string
	for i, d := range h.Deadlines {
		field := fmt.Sprintf("Headers.Deadlines[%d]", i)
		if d == "" {
			errs = append(errs, fmt.Errorf("httpmw: %s is empty, must be a header name", field))
		}
		if name(field, &d); d != "" {
			deadlines = append(deadlines, d)
		}
	}
	h.Deadlines = deadlines
	if c.UnsizedBytes < 0 {
		errs = append(errs, fmt.Errorf("httpmw: UnsizedBytes is %d, must not be negative", c.UnsizedBytes))
		c.UnsizedBytes = 0
	}
	errs = append(errs, h.checkBounds()...)
	return c.withDefaults(), errors.Join(errs...)
}

// checkBounds puts the bounds of the deadlines in order.
func (h *Headers) checkBounds() (errs []error) {
	bound := func(field string, v *time.Duration, unset time.Duration) {
		if *v < 0 {
			errs = append(errs, fmt.Errorf("httpmw: %s is %v, must not be negative", field, *v))
		}
		if *v <= 0 {
			*v = unset
		}
	}
	bound("Headers.MinDeadline", &h.MinDeadline, defaultMinDeadline)
	bound("Headers.MaxDeadline", &h.MaxDeadline, max(defaultMaxDeadline, h.MinDeadline))
	if h.MinDeadline > h.MaxDeadline {
		errs = append(errs, fmt.Errorf("httpmw: Headers.MinDeadline is %v, must be at most MaxDeadline, which is %v",
			h.MinDeadline, h.MaxDeadline))
		h.MinDeadline, h.MaxDeadline = defaultMinDeadline, defaultMaxDeadline
	}
	return errs
}

func (c Config) withDefaults() Config {
	if c.Exempt == nil {
		c.Exempt = IsProbe
	}
	if c.Stream == nil && c.StreamLane != "" {
		c.Stream = claimsStream
	}
	if c.Outcome == nil {
		c.Outcome = outcomeOf
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// isToken tells whether s may name a header (RFC 9110, 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		if !isTokenByte(s[i]) {
			return false
		}
	}
	return s != ""
}
