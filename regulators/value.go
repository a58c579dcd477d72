package regulators

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Value is a Signal that is pushed: whoever knows the pressure sets it, from any
// goroutine. The zero Value is ready to use, has no reading until the first Set,
// and its readings never grow stale; see [NewValue]. A Value must not be copied.
type Value struct {
	maxAge time.Duration // 0: never stale

	mu struct {
		sync.Mutex
		pressure float64
		at       time.Time // zero: never set
	}
}

// NewValue returns a Value whose reading counts for maxAge after each Set, so
// that a source that has died does not hold the pressure where it was. maxAge
// must be above 0; several times the period of the source leaves room for a late
// one.
func NewValue(maxAge time.Duration) (*Value, error) {
	if maxAge <= 0 {
		return nil, fmt.Errorf("regulators: maxAge of a Value is %v, must be above 0 (the zero Value is never stale)", maxAge)
	}
	return &Value{maxAge: maxAge}, nil
}

// Set makes p the pressure from now on. It costs a reading of the clock and a
// short lock. A p that is NaN, infinite or below 0 is an error at each poll until
// the next Set: a source that reports nonsense has no reading.
func (v *Value) Set(p float64) {
	now := time.Now()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.mu.pressure, v.mu.at = p, now
}

// Pressure returns what was set last. Before the first Set, and once the last is
// older than the maximum age, the error wraps [ErrNoReading]. It does not block
// and does not look at ctx.
func (v *Value) Pressure(context.Context) (float64, error) {
	v.mu.Lock()
	p, at := v.mu.pressure, v.mu.at
	v.mu.Unlock()
	if at.IsZero() {
		return 0, fmt.Errorf("%w: the Value was never set", ErrNoReading)
	}
	if age := time.Since(at); v.maxAge > 0 && age > v.maxAge {
		return 0, fmt.Errorf("%w: the Value is %v old, beyond its maxAge of %v", ErrNoReading, age, v.maxAge)
	}
	return checked("Value", p)
}
