package admission

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-go/spillway/admission/internal/core"
)

// Tier is an importance class: T0 is shed last, T5 first.
type Tier uint8

// The tiers. Give T0 only to what the rest of the system cannot live without
// and T1 to the traffic a user waits for; batch work is T5.
const (
	T0 Tier = iota // critical infrastructure
	T1             // the most important user traffic
	T2             // user traffic that degrades gracefully
	T3             // the default: unclassified
	T4             // traffic nobody waits for
	T5             // batch, crawlers, prefetch
)

// NumTiers counts the tiers.
const NumTiers = core.NumTiers

// NumCohorts counts the cohorts of a tier.
const NumCohorts = core.NumCohorts

// String is "t0" to "t5".
func (t Tier) String() string { return "t" + strconv.Itoa(int(t)) }

// Priority is a tier and, inside it, a cohort: a stable slice of the users,
// so that when part of a tier must be shed it is always the same part and a
// user's calls to many services share one fate. It is opaque; build one with
// [Tier.Priority], [NewPriority] or [ParsePriority]. The zero value means unclassified, for
// which [PriorityConfig] names a default: nobody becomes T0 by leaving a field
// empty.
type Priority uint16

// Exempt is the priority of requests that are never shed, hold no slot and
// feed no law: health and readiness probes, metrics, the debug page. They are
// counted, nothing else. It is neither parsed nor taken from a header.
const Exempt Priority = 0xffff

// cohortBits hold 0 for "no cohort yet" and cohort+1 otherwise.
const cohortBits = 8

// NewPriority returns the priority of tier t and the given cohort, 0 to 127.
// A tier past T5 counts as T5 and a cohort out of range wraps around: a
// mistake here costs precision, never rank.
func NewPriority(t Tier, cohort int) Priority {
	t = min(t, T5)
	return Priority(t+1)<<cohortBits | Priority(uint(cohort)%NumCohorts+1)
}

// Priority is the tier without a cohort: that is derived from the request's
// tenant when it is admitted. A tier past T5 counts as T5.
func (t Tier) Priority() Priority { return Priority(min(t, T5)+1) << cohortBits }

// ParsePriority reads "t1" or "t1/37". With the tier alone the cohort is
// derived from the request's tenant when it is admitted. Anything else is an
// error that quotes the text (at most 32 bytes of it) and names the rule.
func ParsePriority(s string) (Priority, error) {
	tier, cohort, both := strings.Cut(s, "/")
	if len(tier) != 2 || tier[0] != 't' || tier[1] < '0' || tier[1] > '5' {
		return 0, priorityError(s)
	}
	t := Tier(tier[1] - '0')
	if !both {
		return t.Priority(), nil
	}
	n, err := strconv.ParseUint(cohort, 10, 8)
	if err != nil || n >= NumCohorts || len(cohort) > 3 {
		return 0, priorityError(s)
	}
	return NewPriority(t, int(n)), nil
}

var errPriority = errors.New(`want "t0" to "t5", optionally followed by a cohort "/0" to "/127"`)

func priorityError(s string) error {
	return fmt.Errorf("admission: priority %.32q: %w", s, errPriority)
}

// Tier is the priority's tier; T5 for values that no constructor made.
func (p Priority) Tier() Tier {
	switch {
	case p == Exempt:
		return T0
	case p>>cohortBits == 0 || p>>cohortBits > NumTiers:
		return T5
	}
	return Tier(p>>cohortBits - 1)
}

// Cohort is 0 to 127; 0 where none has been set.
func (p Priority) Cohort() int {
	if c := int(p & 0xff); c != 0 && p != Exempt {
		return min(c-1, NumCohorts-1)
	}
	return 0
}

// String is the form that [ParsePriority] reads; "" for the zero value.
func (p Priority) String() string {
	switch {
	case p == 0:
		return ""
	case p == Exempt:
		return "exempt"
	case p&0xff == 0:
		return p.Tier().String()
	}
	return p.Tier().String() + "/" + strconv.Itoa(p.Cohort())
}

// MarshalText writes the form of String.
func (p Priority) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what [ParsePriority] reads; empty text is the zero value.
func (p *Priority) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*p = 0
		return nil
	}
	v, err := ParsePriority(string(text))
	if err == nil {
		*p = v
	}
	return err
}

// hasCohort tells whether somebody chose the cohort.
func (p Priority) hasCohort() bool { return p&0xff != 0 }

// rank orders all priorities: 0 is shed last.
func (p Priority) rank() int { return int(p.Tier())*NumCohorts + p.Cohort() }

// wholeRank is rank for what NewPriority made, and not ok for all else.
func (p Priority) wholeRank() (rank int, ok bool) {
	tier, cohort := uint(p>>cohortBits)-1, uint(p&0xff)-1
	return int(tier*NumCohorts + cohort), tier < NumTiers && cohort < NumCohorts
}

// cohortPeriod is how long a user keeps his cohort. Long enough that one
// overload treats him alike from beginning to end, short enough that the same
// users are not the first to go every day.
const cohortPeriod = time.Hour

// CohortOf is the cohort of a user (else a tenant) at a time: the same in
// every process that asks within the same hour, so that a whole call graph
// serves or sheds the same users, and another one the next hour, so that it is
// not always the same who suffer. The hash is FNV-1a, 64 bits.
func CohortOf(key string, at time.Time) int {
	return cohortOf(key, cohortEpoch(at))
}

func cohortEpoch(at time.Time) uint64 { return uint64(at.Unix() / int64(cohortPeriod/time.Second)) }

func cohortOf(key string, epoch uint64) int {
	return int(mix(fnv1a(fnvOffset^epoch, key)) % NumCohorts)
}

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

func fnv1a(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * fnvPrime
	}
	return h
}

// mix spreads FNV's weak high bits over the word (the finalizer of
// MurmurHash3), since both the cohort and the gate's buckets use few bits.
func mix(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
