package admission

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/admission/internal/core"
	"github.com/spillway-go/spillway/regulators"
)

// refusals are a lane's prepared errors: for each reason a table of values
// that differ in their retry hint alone, so that a refusal allocates nothing
// and those refused together do not come back together.
type refusals struct {
	lane    string
	base    time.Duration // of the hints
	binding string        // the stage of reason priority
	errs    [NumReasons][hints]*ShedError
	never   [NumReasons]*ShedError   // do not try again
	early   atomic.Pointer[refusals] // of stage "tap", see Precheck
}

// hints is how many waits those refused are spread over.
const hints = 16

// stages of the reasons that have one of their own.
var reasonStage = [NumReasons]string{
	ReasonDeadline: "deadline", ReasonTenantCap: "scorecard", ReasonPriority: "gate",
	ReasonLimit: "limit", ReasonQueueFull: "queue", ReasonQueueTimeout: "queue",
	ReasonEvicted: "queue", ReasonClosed: "controller",
}

// newRefusals prepares the errors of a lane for a base hint, which is jittered
// by half of it to both sides.
func newRefusals(lane string, base time.Duration, binding string) *refusals {
	t := &refusals{lane: lane, base: base, binding: binding}
	for r := range NumReasons {
		e := ShedError{Reason: r, Stage: reasonStage[r], Lane: lane}
		switch {
		case r == ReasonClosed:
			e.Err = ErrClosed
		case r == ReasonPriority && binding != "":
			e.Stage = binding
		}
		t.errs[r], t.never[r] = e.spread(base)
	}
	return t
}

// spread makes the variants of e that differ in their hint.
func (e ShedError) spread(base time.Duration) (table [hints]*ShedError, never *ShedError) {
	for i := range table {
		v := e
		if e.Reason != ReasonDeadline {
			v.RetryAfter = base/2 + base*time.Duration(i)/(hints-1)
		}
		table[i] = &v
	}
	v := e
	if e.Reason != ReasonDeadline {
		v.RetryAfter = -1
	}
	return table, &v
}

// pick returns the error for one request; turn chooses its hint.
func (t *refusals) pick(why Reason, rank, attempt int, turn uint32) *ShedError {
	if !core.MayRetry(rank, attempt) {
		return t.never[why]
	}
	return t.errs[why][turn%hints]
}

// stageErrors remembers, for a stage, the last error it returned and what was
// made of it: stages tend to return the same few values, and a refusal should
// not allocate.
type stageErrors struct{ last atomic.Pointer[stageError] }

type stageError struct {
	err   error
	base  time.Duration
	errs  [hints]*ShedError
	never *ShedError
}

// laneErrors has them by lane: their errors name it, and lanes take turns.
type laneErrors map[*lane]*stageErrors

func newLaneErrors(p *plan) laneErrors {
	errs := make(laneErrors, len(p.lanes))
	for _, l := range p.lanes {
		errs[l] = &stageErrors{}
	}
	return errs
}

// wrap makes err a refusal; why is its reason unless it says one itself.
func (errs laneErrors) wrap(l *lane, stage string, why Reason, err error, rank, attempt int) *ShedError {
	base := l.refusals.Load().base
	s := errs[l]
	w := s.last.Load()
	if w == nil || w.base != base || !same(w.err, err) {
		e := ShedError{Reason: why, Stage: stage, Lane: l.name, Err: err}
		if own, ok := err.(*ShedError); ok {
			e.Err = nil
			if own != nil {
				e.Reason, e.Err = min(own.Reason, NumReasons-1), own.Err
			}
		}
		w = &stageError{err: err, base: base}
		w.errs, w.never = e.spread(base)
		if errors.Is(e.Err, regulators.ErrTooLarge) {
			for i := range w.errs {
				w.errs[i] = w.never
			}
		}
		s.last.Store(w)
	}
	if !core.MayRetry(rank, attempt) {
		return w.never
	}
	return w.errs[rand.Uint32()%hints]
}

// same compares two errors. Structs and arrays are never the same: whether their
// values can be compared depends on what interfaces in them hold.
func same(a, b error) bool {
	t := reflect.TypeOf(b)
	return t.Comparable() && t.Kind() != reflect.Struct && t.Kind() != reflect.Array && a == b
}
