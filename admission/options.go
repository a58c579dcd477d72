package admission

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"
	"unicode/utf8"

	"github.com/spillway-go/spillway/pid"
	"github.com/spillway-go/spillway/regulators"
)

// Option gives a [Controller] behaviour; data is in [Config].
type Option func(*options) error

type options struct {
	logger  *slog.Logger
	hooks   Hooks
	stages  []Stage
	sources map[string]source // signals and guards
	limits  map[string]pid.Limit
}

// gather asks all options; those that err have no effect.
func gather(opts []Option) (o options, err error) {
	o.logger = slog.New(slog.DiscardHandler)
	var errs []error
	for _, opt := range opts {
		if opt != nil {
			errs = append(errs, opt(&o))
		}
	}
	if o.hooks.Admit == nil {
		o.hooks.MinWait = math.MaxInt64 // so that one look tells whether to call it
	}
	return o, errors.Join(errs...)
}

// WithLogger sets where edges are logged, never requests. At Info: a lane begins
// to shed, and, ten seconds after it shed last or once a minute, how much by tier
// and reason; a limit has left its floor; a signal is found again; a guard works again; a config is
// applied. At Warn: a limit has been at its floor, all slots taken, for ten seconds; a signal is
// lost; a guard panics and fails open; a config is refused. What comes and goes is told at most once in
// ten seconds. At Debug: every move of a limit with its reason, and the gate's
// beginning and end of shedding with what asks for it; a limit moves some times a
// second at most, unless its law moves with every request, as aimd does: then it
// is 20 a second. All attributes are in a group, admission. Nil discards, as does leaving it out.
func WithLogger(l *slog.Logger) Option {
	return func(o *options) error {
		if l != nil {
			o.logger = l.WithGroup("admission")
		}
		return nil
	}
}

// WithHooks sets callbacks, see [Hooks]. A negative MinWait is an error.
func WithHooks(h Hooks) Option {
	return func(o *options) error {
		if h.MinWait < 0 {
			return fmt.Errorf("admission: hooks: MinWait is %v: must not be negative", h.MinWait)
		}
		o.hooks = h
		return nil
	}
}

// WithStages adds the user's own decisions; they are asked in this order,
// after the scorecard and before the gate.
func WithStages(stages ...Stage) Option {
	return func(o *options) error {
		for i, s := range stages {
			if s == nil {
				return fmt.Errorf("admission: stage %d is nil", i)
			}
		}
		o.stages = append(o.stages, stages...)
		return nil
	}
}

// WithSignal brings in a signal under a name. Config.Regulators may bind the
// name to lanes and a setpoint; without an entry there it acts on all lanes at
// setpoint 1. The signal is polled on a goroutine of its own, never on a
// request's way; while it is above its setpoint the lanes' gates shed by priority.
func WithSignal(name string, s regulators.Signal) Option {
	return bring("signal", name, source{signal: s}, s == nil)
}

// WithKeyedSignal brings in a signal that speaks for single tenants, callers or
// keys, see RegulatorConfig.By; without an entry there it goes by tenant, on all
// lanes, at setpoint 1. It is polled like a [WithSignal]. Each of those above the
// setpoint is shed for himself (reason keyed), his worst tiers first, until his
// pressure is back at it; the others feel nothing. At most 1,024 are shed at once,
// those under the highest pressure when they came.
func WithKeyedSignal(name string, s regulators.KeyedSignal) Option {
	return bring("keyed signal", name, source{keyed: s}, s == nil)
}

// WithGuard brings in a guard under a name; RegulatorConfig says what it is told.
// It is entered on each request's way, after the scorecard and the stages, and
// left when the request is released, or shed by a later step. What it refuses has
// reason regulator, or keyed where the config has it go by an actor; an error that
// is a *[ShedError] keeps its own. One that holds back single actors, such as
// [regulators.HotKey], should therefore have an entry with By, or they are told
// that the replica is full. A panic is counted and taken for leave to go
// on: such an Enter has no Exit.
func WithGuard(name string, g regulators.Guard) Option {
	return bring("guard", name, source{guard: g}, g == nil)
}

func bring(what, name string, src source, none bool) Option {
	return func(o *options) error {
		switch _, twice := o.sources[name]; {
		case name == "":
			return fmt.Errorf("admission: a %s's name is empty", what)
		case !utf8.ValidString(name):
			return fmt.Errorf("admission: %s %q: the name must be UTF-8", what, name)
		case none:
			return fmt.Errorf("admission: %s %q is nil", what, name)
		case twice:
			return fmt.Errorf("admission: %s %q: the name is given twice", what, name)
		}
		if o.sources == nil {
			o.sources = map[string]source{}
		}
		o.sources[name] = src
		return nil
	}
}

// WithLimit gives a lane a limit law of the user's own instead of the one its
// config names, whose LimitConfig then has no effect. The lane calls it under the
// lock that all lanes share. A law that is also a [pid.Explainer] is shown in Stats, hooks and
// the log with its reasons.
func WithLimit(lane string, l pid.Limit) Option {
	return func(o *options) error {
		if l == nil {
			return fmt.Errorf("admission: the limit of lane %q is nil", lane)
		}
		if o.limits == nil {
			o.limits = map[string]pid.Limit{}
		}
		o.limits[laneName(lane)] = l
		return nil
	}
}

// Load is what a [Stage] is shown of the request's lane.
type Load struct {
	Now       time.Time
	Inflight  int     // slots taken
	Limit     int     // slots there are
	Queued    int     // waiters
	Pressure  float64 // (inflight + queued) / limit
	ShedRatio float64 // share of arrivals that the gate sheds
}

// Stage is a decision of the user's over whole requests. It is called on the
// request's goroutine, without any lock held, so its methods must be safe for
// concurrent use and should not block. r is valid only during the call.
//
// An Enter that returns nil is followed by exactly one Exit, whatever becomes
// of the request; Exits run in reverse order, with outcome Ignore where a
// later step shed the request. An error sheds it: a *[ShedError] keeps its
// Reason, any other is wrapped with reason "stage". A panic in Enter passes
// through to the caller once everything taken was given back.
type Stage interface {
	Name() string
	Enter(l Load, r *Request) error
	Exit(l Load, r *Request, o Outcome)
}

// Hooks are optional callbacks. They run after unlocking, on the goroutine
// named below; they must not block, since somebody waits for them, and may
// call any method of the Controller but Close; those that run on the loop's
// goroutine must not call Admit or Do either, which may wait for the loop.
type Hooks struct {
	// Admit is called for each admitted request, on its own goroutine, before
	// Admit, TryAdmit or Do goes on; not for exempt ones, nor for those that the mode
	// Shadow of the whole or a lane would have shed, of which Shed is told.
	Admit func(context.Context, Admission)
	// MinWait keeps Admit to those that waited in the queue at least so long. A
	// request it is not called for pays nothing for it. Zero: it is called for all.
	MinWait time.Duration
	// Shed is called for each shed request, on its own goroutine, and in shadow (of
	// the whole, a lane, a rule or a regulator) for each that would have been; for
	// one that several would have shed, more than once.
	Shed func(context.Context, Refusal)
	// Limit is called on the loop's goroutine when a lane's limit has moved, be
	// it a probe for a moment. A new config's move is not told.
	Limit func(LimitMove)
	// Gate is called on the loop's goroutine when a lane begins to shed by
	// priority or ends.
	Gate func(GateEdge)
}

// Admission is one admitted request.
type Admission struct {
	Lane     string
	Priority Priority      // in force, also where the request named none
	Waited   time.Duration // in the queue
}

// Refusal is one shed request.
type Refusal struct {
	Request  Request
	Priority Priority // in force, also where the request named none
	Err      *ShedError
	Cause    error // what the scorecard, a guard or a stage said, if it was they
	Shadow   bool  // it ran all the same
}

// LimitMove says how a limit moved and why.
type LimitMove struct {
	Lane     string
	From, To int
	Why      string // a constant phrase
}

// GateEdge says that a gate began (Ratio > 0) or ended (Ratio 0) shedding.
type GateEdge struct {
	Lane    string
	Ratio   float64
	Binding string // the signal that asks for it; "queue" is the lane itself
}
