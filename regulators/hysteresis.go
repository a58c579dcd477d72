package regulators

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
)

type hysteresis struct {
	of      Signal
	on, off float64

	mu struct {
		sync.Mutex
		latched bool
	}
}

// Hysteresis returns a Signal that reads 0 until s has reached on, from then on
// what s reads, and 0 again once s is below off. It keeps a reading that wanders
// about a threshold from switching at each turn. off must be above 0 and at most
// on, which must be finite; there are no defaults. With on at 1.2 and off at 0.8,
// say, a brief passing of 1 sheds nobody, and what is shed ends at once, not at the
// controller's pace, when the resource is well again.
//
// An error of s is passed on and ends what on began, so that a source which comes
// back after a while starts afresh. A poll costs one of s and a short lock.
func Hysteresis(s Signal, on, off float64) (Signal, error) {
	errs := []error{given(s, "Hysteresis")}
	if math.IsNaN(on) || math.IsInf(on, 0) {
		errs = append(errs, fmt.Errorf("regulators: on of Hysteresis is %v, must be finite", on))
	}
	if !(off > 0 && off <= on) {
		errs = append(errs, fmt.Errorf("regulators: off of Hysteresis is %v, must be above 0 and at most on, %v", off, on))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &hysteresis{of: s, on: on, off: off}, nil
}

func (h *hysteresis) Pressure(ctx context.Context) (float64, error) {
	p, err := h.of.Pressure(ctx) // before the lock: it may block
	if err == nil {
		p, err = checked("the signal of Hysteresis", p)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.latched = err == nil && (p >= h.on || h.mu.latched && p >= h.off)
	if err != nil || !h.mu.latched {
		return 0, err
	}
	return p, nil
}
