package regulators

import (
	"context"
	"fmt"
	"runtime"
)

type goroutines struct{ atMost float64 }

// Goroutines returns a Signal that reads the number of live goroutines over
// atMost, which must be at least 1 and has no default: it depends on how many
// the service needs when it is well. Measure those at full load and give some
// twice that. It speaks of memory and of work piled up that nothing else counts,
// and rises late; it is a second line.
//
// The count leaves out the runtime's own goroutines and costs some ten
// nanoseconds. The metric /sched/goroutines:goroutines counts those too and
// takes the scheduler's lock, which a regulator of an overloaded process should
// not.
func Goroutines(atMost int) (Signal, error) {
	if atMost < 1 {
		return nil, fmt.Errorf("regulators: atMost of Goroutines is %d, must be at least 1", atMost)
	}
	return goroutines{atMost: float64(atMost)}, nil
}

func (g goroutines) Pressure(context.Context) (float64, error) {
	return float64(runtime.NumGoroutine()) / g.atMost, nil
}
