package admission

import (
	"errors"
	"time"

	"github.com/spillway-go/spillway/admission/internal/core"
)

// ErrShed is what every refusal for load is: errors.Is(err, ErrShed). A caller
// that left while it waited gets its own context's cause instead, so that shed
// and gone are never confused.
var ErrShed = errors.New("admission: shed")

// ErrClosed is what a request meets once [Controller.Close] was called. It is
// wrapped in a ShedError of reason closed.
var ErrClosed = errors.New("admission: controller is closed")

// ShedError is the refusal of one request. Values are prepared beforehand,
// shared and immutable: a refusal allocates nothing, and what belongs to one
// request alone goes to [Hooks] instead.
type ShedError struct {
	// Reason is why.
	Reason Reason
	// Stage names what decided: "deadline", "scorecard", a stage's or a
	// signal's own name, "gate", "limit" or "queue"; "tap" where
	// [Controller.Precheck] did.
	Stage string
	// Lane of the request.
	Lane string
	// RetryAfter is how long the caller should wait before he tries again,
	// jittered so that not all come back at once. Zero: no hint. Negative: he
	// should not try again (a low tier, a retry already, or an Err that is
	// regulators.ErrTooLarge).
	RetryAfter time.Duration
	// Err is what a stage returned, or ErrClosed, or nil.
	Err error
}

// Error names stage, lane and reason; never a tenant or a key.
func (e *ShedError) Error() string {
	return "admission: shed by " + e.Stage + " in lane " + e.Lane + ": " + e.Reason.String()
}

// Is reports that a ShedError is an ErrShed.
func (e *ShedError) Is(target error) bool { return target == ErrShed }

// Unwrap returns Err.
func (e *ShedError) Unwrap() error { return e.Err }

// Reason is why a request was shed. Its String is made for metric labels.
type Reason = core.Reason

// The reasons, in the order in which a request meets them.
const (
	ReasonDeadline     = core.ReasonDeadline     // less time left than such a request now takes
	ReasonTenantCap    = core.ReasonTenantCap    // a rule of the scorecard is at its cap
	ReasonKeyed        = core.ReasonKeyed        // this actor is too much for a keyed signal or guard
	ReasonRegulator    = core.ReasonRegulator    // a guard's bound is reached
	ReasonStage        = core.ReasonStage        // a user's stage said no
	ReasonPriority     = core.ReasonPriority     // the gate: its rank is above the threshold
	ReasonLimit        = core.ReasonLimit        // TryAdmit found no slot
	ReasonQueueFull    = core.ReasonQueueFull    // no place in the queue for its tier
	ReasonQueueTimeout = core.ReasonQueueTimeout // waited as long as it was allowed to
	ReasonEvicted      = core.ReasonEvicted      // gave its place in the queue to a better one
	ReasonClosed       = core.ReasonClosed       // the controller is closed
)

// NumReasons counts the reasons; a Reason is an index below it.
const NumReasons = core.NumReasons

// Outcome says how a request that ran came out.
type Outcome = core.Outcome

// The outcomes.
const (
	// Success: its service time is a fair sample.
	Success = core.Success
	// Overload: it timed out or failed for want of capacity. Counts against
	// the limit.
	Overload = core.Overload
	// Failure: an ordinary error, which says nothing about capacity.
	Failure = core.Failure
	// Ignore: no sample at all: the client left, or it was a stream.
	Ignore = core.Ignore
)
