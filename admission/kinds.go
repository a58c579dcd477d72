package admission

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spillway-go/spillway/regulators"
)

// kind is a built-in regulator that a config can name.
type kind struct {
	build func(RegulatorConfig) (source, error)
	guard bool   // not polled; it can count and be told names
	reads string // field that it measures against; empty: limit

	by, counts string // unless the config says otherwise
}

// kinds that need nothing but numbers; what needs more (a database, a query) is
// brought in by an option.
var kinds = map[string]kind{
	"goroutines": {build: func(rc RegulatorConfig) (source, error) {
		s, err := regulators.Goroutines(int(rc.Limit))
		return source{signal: s}, err
	}},
	"heap": {build: func(rc RegulatorConfig) (source, error) {
		s, err := regulators.Heap(int64(rc.Limit))
		return source{signal: s}, err
	}},
	"cpu": {build: func(rc RegulatorConfig) (source, error) {
		s, err := regulators.CPU(rc.Limit)
		return source{signal: s}, err
	}},
	"gc": {build: func(rc RegulatorConfig) (source, error) {
		s, err := regulators.GCShare(rc.Limit)
		return source{signal: s}, err
	}},
	"bytes": {guard: true, counts: countSize, build: func(rc RegulatorConfig) (source, error) {
		g, err := regulators.InflightBytes(int64(rc.Limit))
		return source{guard: g}, err
	}},
	"hot-key": {guard: true, by: byKey, build: func(rc RegulatorConfig) (source, error) {
		g, err := regulators.HotKey(rc.Limit, rc.Floor)
		return source{guard: g}, err
	}},
	"heap-cut": {guard: true, build: func(rc RegulatorConfig) (source, error) {
		g, err := regulators.HeapCut(int64(rc.Limit))
		return source{guard: g}, err
	}},
	"rate": {guard: true, by: byTenant, build: func(rc RegulatorConfig) (source, error) {
		g, err := regulators.Rate(regulators.RateConfig{PerSecond: rc.Limit})
		return source{guard: g}, err
	}},
	"psi-cpu":    {build: psi("cpu")},
	"psi-memory": {build: psi("memory")},
	"psi-io":     {build: psi("io")},
	"sched-latency": {reads: "target", build: func(rc RegulatorConfig) (source, error) {
		s, err := regulators.SchedLatency(time.Duration(rc.Target))
		return source{signal: s}, err
	}},
}

func psi(resource string) func(RegulatorConfig) (source, error) {
	return func(rc RegulatorConfig) (source, error) {
		s, err := regulators.PSI(resource, rc.Limit)
		return source{signal: s}, err
	}
}

func kindNames() string { return strings.Join(slices.Sorted(maps.Keys(kinds)), ", ") }

// sameKind tells whether what was built for one config serves the other.
func (rc RegulatorConfig) sameKind(other RegulatorConfig) bool {
	return rc.Kind == other.Kind && rc.Limit == other.Limit && rc.Floor == other.Floor && rc.Target == other.Target
}

// kind checks a built-in's name and numbers by building one.
func (v *problems) kind(at string, rc RegulatorConfig) {
	k, ok := kinds[rc.Kind]
	if !ok {
		v.add(at+".kind", fmt.Sprintf("%.64q", rc.Kind), "must be one of "+kindNames())
		return
	}
	// What this machine does not have is New's and Apply's to report: a config may
	// be checked elsewhere than it is used.
	if _, err := k.build(rc); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		v.join(at+"."+cmp.Or(k.reads, "limit"), err)
	}
}
