package regulators

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// Signal is a pressure for the whole process, polled off the requests' way.
//
// Pressure returns a finite number of at least 0, where 1 is as much as the
// resource should bear, or an error when there is no reading. It may block, but
// not beyond ctx. One poller does not call it twice at once; a signal given to
// several must be safe for concurrent use.
type Signal interface {
	Pressure(ctx context.Context) (float64, error)
}

// KeyedSignal is a pressure for each of several tenants, callers or keys, polled
// off the requests' way.
//
// Pressures returns them by name, each as [Signal] has it; who is not in the map
// is under no pressure. The poller is done with the map before it calls again, so
// the signal may use it anew. Blocking and concurrency are as for [Signal].
type KeyedSignal interface {
	Pressures(ctx context.Context) (map[string]float64, error)
}

// ErrNoReading is what a signal's error wraps that works but has nothing to
// report: no value has been set yet, the last one is too old, or a period must
// pass first.
var ErrNoReading = errors.New("regulators: no reading")

// Func makes a Signal of a function. A nil Func is an error at each poll.
type Func func(ctx context.Context) (float64, error)

// Pressure calls f. A pressure that is NaN, infinite or below 0 becomes an
// error. It blocks as long as f does.
func (f Func) Pressure(ctx context.Context) (float64, error) {
	if f == nil {
		return 0, errors.New("regulators: Func is nil")
	}
	p, err := f(ctx)
	if err != nil {
		return 0, err
	}
	return checked("Func", p)
}

// checked keeps what is no pressure out of the arithmetic of those who poll.
func checked(who string, p float64) (float64, error) {
	if math.IsNaN(p) || math.IsInf(p, 0) || p < 0 {
		return 0, fmt.Errorf("regulators: pressure of %s is %v, must be finite and at least 0", who, p)
	}
	return p, nil
}
