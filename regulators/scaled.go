package regulators

import (
	"context"
	"errors"
	"fmt"
	"math"
)

type scaled struct {
	of   Signal
	full float64
}

// Scaled returns a Signal that reads s over full, which makes a pressure of a
// reading in seconds, bytes or lines: full is as much as the resource should
// bear. It must be finite and above 0 and has no default. It may be below 1, which makes
// the pressure of s count for more.
//
// An error of s is passed on. A poll costs one of s and a division.
func Scaled(s Signal, full float64) (Signal, error) {
	var err error
	if !(full > 0) || math.IsInf(full, 0) {
		err = fmt.Errorf("regulators: full of Scaled is %v, must be finite and above 0", full)
	}
	if err := errors.Join(given(s, "Scaled"), err); err != nil {
		return nil, err
	}
	return scaled{of: s, full: full}, nil
}

func (s scaled) Pressure(ctx context.Context) (float64, error) {
	p, err := s.of.Pressure(ctx)
	if err != nil {
		return 0, err
	}
	return checked("Scaled", p/s.full)
}

// given is an error when the signal that who is to build on is nil.
func given(s Signal, who string) error {
	if s == nil {
		return fmt.Errorf("regulators: signal of %s is nil", who)
	}
	return nil
}
