package grpcmw

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"

	"github.com/spillway-go/spillway/admission"
)

// Config says how calls are described to the controller and how the shed ones
// are answered. The zero Config works. It is read when an interceptor is made and
// not afterwards. Its functions are called from many goroutines at once; a panic
// in one goes on to the server, but for [TapHandle], and leaves nothing taken.
type Config struct {
	// Classify describes a call. req is the message of a unary call or, with
	// Messages, of a stream; nil for a stream that opens and for Tap. What it
	// leaves empty is filled in: Op from the method, Caller from the connection,
	// and Priority, Tenant, Caller and Attempt from Metadata. Bytes it must know
	// by itself (proto.Size, say). Nil: all of it is filled in.
	Classify func(ctx context.Context, fullMethod string, req any) admission.Request

	// Caller says who is at the other end, by what the sender cannot choose.
	// Nil: [PeerIdentity].
	Caller func(*peer.Peer) string

	// Exempt picks the methods whose calls and streams are only counted: never
	// shed, no slot, no sample. Nil: [IsInfrastructure].
	Exempt func(fullMethod string) bool

	// Metadata names the keys that are looked at. None by default.
	Metadata Metadata

	// StreamLane is a lane of the controller in which streams hold a slot until
	// their handler returns, but for those that Classify puts there and whose
	// Messages are admitted: they would wait for what their own stream holds.
	// Empty: streams are admitted where others are, and give the slot back once
	// they are open.
	StreamLane string

	// Hold picks the streaming methods that end by themselves, such as a list or
	// an upload: their streams hold a slot of their own lane, not of StreamLane,
	// until the handler returns. It is not asked about methods whose Messages are
	// admitted, which would wait for what their own stream holds. Nil: none does.
	Hold func(fullMethod string) bool

	// Messages says, by method, whether each message that a stream receives is
	// admitted by itself. Nil: [MessagesFree] for all. It is asked when a stream
	// opens, which ends as INTERNAL if the answer is none of the policies.
	Messages func(fullMethod string) MessagePolicy

	// Tap picks the methods, those of large messages, whose calls are turned away
	// before their message is read where they are certain to be shed. It should
	// know a method by its whole name, since any can be asked for, and leave out
	// those whose streams are for StreamLane. See [TapHandle] for what it costs.
	// Nil: none.
	Tap func(fullMethod string) bool

	// Forward has the context of a handler carry on, in its outgoing metadata,
	// the priority and the tenant that its call was described with. See
	// [Metadata.Outgoing].
	Forward bool

	// Outcome says how a unary call came out. code is that of what the handler
	// returned. err is nil, [context.Canceled] when the client left, or
	// [context.DeadlineExceeded] when the deadline of the call's context has
	// passed. It is not asked about panics and streams. Nil: the rule in the
	// package comment.
	Outcome func(code codes.Code, err error) admission.Outcome

	// Reject answers a shed call instead of this package: the error that it
	// returns ends the call, and trailers are its own to set, with
	// [google.golang.org/grpc.SetTrailer] and not for Tap. Nil returned means the
	// usual answer. The error handed in is shared and must not be changed.
	Reject func(ctx context.Context, fullMethod string, shed *admission.ShedError) error

	// LoadReports has the answer to every call but the exempt ones carry how
	// loaded this replica is, in a trailer, whether the call is admitted or
	// shed: what [admission.Controller.LoadReport] tells, as ORCA has it. Clients
	// with the balancer weighted_round_robin then send less to a replica that is
	// slow or sheds. It tells a stranger how busy the replica is. An
	// interceptor that is not made by [ServerOptions] needs
	// [google.golang.org/grpc/orca.CallMetricsServerOption] before it, with
	// [LoadMetrics]. Beside ServerOptions that option is one too many: behind it a
	// handler that records metrics of its own, which needs no more than this, would
	// have two reports sent, of which clients believe neither.
	LoadReports bool

	// Logger hears of mistakes in the program: an invalid Config, and the first
	// invalid description, or panic for Tap. Never of load. Nil: [slog.Default].
	Logger *slog.Logger
}

// Metadata names the metadata keys that may describe a call, each "" for none. A
// value that is malformed, or there more than once, counts as absent. Nothing
// that Classify has set, or the connection tells, is overridden.
type Metadata struct {
	// Trusted tells whether what a call's metadata says is to be believed. It
	// must go by what the sender cannot choose: who is at the other end, say, see
	// [google.golang.org/grpc/peer.FromContext]. Nil: nobody is trusted.
	Trusted func(context.Context) bool

	// Priority is a key whose value has the form that [admission.ParsePriority]
	// reads, "t1" or "t1/37". From those not trusted it is clamped by
	// [admission.Controller.Untrusted] and loses its cohort: they can step back,
	// not forward, nor to the front of a tier.
	Priority string

	// Tenant and Caller are believed of the trusted only: who may choose the
	// tenant evades its cap.
	Tenant, Caller string

	// Attempt counts tries from 1, as x-envoy-attempt-count does. Believed of the
	// trusted only, as is grpc-previous-rpc-attempts, which needs no name and
	// counts where Attempt says nothing. What strangers say there still keeps
	// them from being told to try again.
	Attempt string

	// Baggage reads the members [PriorityMember] and [TenantMember] of W3C
	// baggage, key "baggage", where Priority and Tenant say nothing, and by the
	// same rules.
	Baggage bool
}

// Validate returns nil, or all problems at once, joined, each naming the field,
// its value and the rule. [UnaryServerInterceptor] and the others cannot return
// an error: they log this one and go on as if the fields at fault were empty.
// Whether StreamLane exists only the controller knows.
func (c Config) Validate() error {
	_, err := c.checked()
	return err
}

// checked returns c without the fields at fault, its defaults filled in.
func (c Config) checked() (Config, error) {
	var errs []error
	m := &c.Metadata
	for _, key := range []struct {
		field string
		value *string
	}{{"Priority", &m.Priority}, {"Tenant", &m.Tenant}, {"Caller", &m.Caller}, {"Attempt", &m.Attempt}} {
		if *key.value = strings.ToLower(*key.value); *key.value == "" {
			continue
		}
		if rule := badKey(*key.value); rule != "" {
			errs = append(errs, fmt.Errorf("grpcmw: Metadata.%s is %.32q, must %s", key.field, *key.value, rule))
			*key.value = ""
		}
	}
	return c.withDefaults(), errors.Join(errs...)
}

// badKey says what a metadata key breaks of the rules of gRPC over HTTP/2, "" for
// nothing.
func badKey(key string) string {
	for i := range len(key) {
		if c := key[i]; !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.') {
			return "be of letters, digits, '-', '_' and '.'"
		}
	}
	switch {
	case strings.HasPrefix(key, "grpc-"):
		return `not begin with "grpc-", which is gRPC's own`
	case strings.HasSuffix(key, "-bin"):
		return `not end with "-bin": its value is text`
	}
	return ""
}

func (c Config) withDefaults() Config {
	if c.Caller == nil {
		c.Caller = PeerIdentity
	}
	if c.Exempt == nil {
		c.Exempt = IsInfrastructure
	}
	if c.Hold == nil {
		c.Hold = never
	}
	if c.Outcome == nil {
		c.Outcome = outcomeOf
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

func never(string) bool { return false }
