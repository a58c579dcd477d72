package core

// Reason is why a request was shed.
type Reason uint8

// The reasons, in the order in which a request meets them.
const (
	ReasonDeadline Reason = iota
	ReasonTenantCap
	ReasonKeyed
	ReasonRegulator
	ReasonStage
	ReasonPriority
	ReasonLimit
	ReasonQueueFull
	ReasonQueueTimeout
	ReasonEvicted
	ReasonClosed
	NumReasons
)

var reasonNames = [NumReasons]string{
	"deadline", "tenant-cap", "keyed", "regulator", "stage", "priority",
	"limit", "queue-full", "queue-timeout", "evicted", "closed",
}

// String is the reason's name, fit for a metric label.
func (r Reason) String() string {
	if r < NumReasons {
		return reasonNames[r]
	}
	return "unknown"
}

// Outcome is how a request that ran came out.
type Outcome uint8

// The outcomes; see package admission.
const (
	Success Outcome = iota
	Overload
	Failure
	Ignore
	NumOutcomes
)

var outcomeNames = [NumOutcomes]string{"success", "overload", "failure", "ignore"}

// String is the outcome's name, fit for a metric label.
func (o Outcome) String() string {
	if o < NumOutcomes {
		return outcomeNames[o]
	}
	return "unknown"
}
