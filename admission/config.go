package admission

import (
	"time"

	"github.com/spillway-go/spillway/admission/internal/core"
	"github.com/spillway-go/spillway/codel"
	"github.com/spillway-go/spillway/pid"
	"github.com/spillway-go/spillway/scorecard"
)

// Config is everything about a [Controller] that is data: it can be read,
// compared, logged and loaded from a file. The zero Config works: one lane
// named "default", a limit that finds itself, the gate and the queue on.
// Behaviour (a logger, hooks, signals, stages) comes in by options.
type Config struct {
	// Mode is Enforce, Shadow or Off.
	Mode Mode `json:"mode"`
	// Lanes isolate kinds of work: each has its own limit, queue and gate.
	// Nil means one lane, "default", with defaults.
	Lanes map[string]LaneConfig `json:"lanes,omitempty"`
	// Priorities classify the requests that do not say what they are.
	Priorities PriorityConfig `json:"priorities"`
	// Scorecard caps tenants, callers and whatever tags name, always.
	Scorecard ScorecardConfig `json:"scorecard"`
	// Regulators bind signals and guards, by name, to setpoints and lanes. A name
	// is that of one brought in with [WithSignal], [WithKeyedSignal] or
	// [WithGuard], or any other where the entry's Kind names a built-in one.
	Regulators map[string]RegulatorConfig `json:"regulators,omitempty"`
	// Stages bind stages, by the names that they give themselves, to lanes. A name is
	// that of one brought in with [WithStages]; one without an entry is asked about
	// the requests of every lane.
	Stages map[string]StageConfig `json:"stages,omitempty"`
}

// StageConfig binds a stage.
type StageConfig struct {
	// Lanes whose requests it is asked about. Empty: all.
	Lanes []string `json:"lanes,omitempty"`
}

// LaneConfig configures a lane. Its zero value is a lane with all defaults.
type LaneConfig struct {
	// Mode is what is done with verdicts over this lane's requests, whoever
	// reaches them: where it and Config.Mode differ, what sheds less holds.
	Mode  Mode        `json:"mode,omitempty"`
	Limit LimitConfig `json:"limit"`
	// Queue's Capacity, left zero, is 50, or four for each slot if that is more.
	Queue codel.Config `json:"queue"`
	Gate  GateConfig   `json:"gate"`
	// Deadline is how long a caller of this lane is assumed to wait when his
	// request carries no deadline of its own, and what the limit's tolerance
	// is taken from. Zero: measured. The tolerance goes by the deadlines that
	// waiters bring; without any, and for a request without one, it is ten
	// times the baseline service time within 20 ms and 1 s. At most an hour.
	Deadline time.Duration `json:"deadline"`
	// MaxCost has the lane learn what its operations cost: a request that names
	// no Cost takes as many slots as its Op's mean service time is medians of the
	// lane's, rounded, from 1 to MaxCost, so that a full scan and a point read do
	// not weigh the same. It is smoothed over 64 requests of an Op and concerns
	// the first 256 distinct ones. Zero: off. At most 1,000.
	MaxCost int `json:"max_cost,omitempty"`
}

// core is what the lane itself goes by.
func (l LaneConfig) core() core.Config {
	return core.Config{Limit: l.Limit, Queue: l.Queue, Gate: l.Gate, Deadline: l.Deadline, MaxCost: l.MaxCost}
}

// LimitConfig configures the inflight limit; see [pid.LimitConfig].
type LimitConfig = pid.LimitConfig

// GateConfig configures the gate's shed ratio; see [pid.GateConfig].
type GateConfig = pid.GateConfig

// PriorityConfig says which priority a request has that names none.
type PriorityConfig struct {
	// Default is for requests whose caller has no entry. Zero: t3.
	Default Priority `json:"default"`
	// Callers maps a caller's name, or a prefix of it followed by `*`, to its
	// priority. An exact name wins over a prefix, a longer prefix over a
	// shorter one.
	Callers map[string]Priority `json:"callers,omitempty"`
	// UntrustedMax is the best priority that somebody outside may claim, see
	// [Controller.Untrusted]. Zero: t3, so that a header cannot buy what the
	// default does not give.
	UntrustedMax Priority `json:"untrusted_max"`
}

// ScorecardConfig configures the rules; see package scorecard.
type ScorecardConfig struct {
	// Rules are tried in their order: of those that name the same keys the first
	// that matches counts, so exceptions come first.
	Rules []scorecard.Rule `json:"rules,omitempty"`
	// MaxTenants bounds how many distinct values of `*` are told apart; the
	// rest share one bucket per rule. Zero: 10,000.
	MaxTenants int `json:"max_tenants"`
}

// Mode says what a controller does with its verdicts.
type Mode uint8

// The modes.
const (
	// Enforce sheds.
	Enforce Mode = iota
	// Shadow takes the same way through the code and keeps the same
	// statistics, but lets everything run at once; what would have been shed
	// is counted. In overload that is a forecast only as far as the back end gets no
	// less done of all than it would of those admitted; see How to try a change.
	Shadow
	// Off lets everything through untouched and uncounted.
	Off
)
