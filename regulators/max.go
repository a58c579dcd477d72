package regulators

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Max returns a Signal that reads the highest pressure of the given ones: the
// resource that has least left decides. Adding them up instead would shed twice
// for one overload that shows in two places.
//
// Signals that return an error, or what is no pressure, are left out; only when
// all do is there an error, which joins theirs. They are polled one after the
// other in one call, so a slow one takes the time of those behind it. No signals
// is [ErrNoReading], and a nil one is an error, at each poll.
func Max(signals ...Signal) Signal { return maxSignal(slices.Clone(signals)) }

type maxSignal []Signal

func (m maxSignal) Pressure(ctx context.Context) (float64, error) {
	if len(m) == 0 {
		return 0, fmt.Errorf("%w: Max of no signals", ErrNoReading)
	}
	if i := slices.Index(m, nil); i >= 0 {
		// A mistake in the program, not a source that fails: not to be outvoted.
		return 0, fmt.Errorf("regulators: signal %d of Max is nil", i)
	}
	var (
		highest float64
		errs    []error
	)
	for _, s := range m {
		p, err := s.Pressure(ctx)
		if err == nil {
			p, err = checked("a signal of Max", p)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		highest = max(highest, p)
	}
	if len(errs) == len(m) {
		return 0, errors.Join(errs...)
	}
	return highest, nil
}
