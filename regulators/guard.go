package regulators

import (
	"errors"
	"time"
)

// Guard holds an invariant that must not be passed even for an instant, such as
// the bytes in flight. It stands in each request's way, so both methods must be
// fast, must not block, and must be safe for concurrent use.
type Guard interface {
	// Enter takes n for key at now, or refuses with an error, having taken
	// nothing. What key and n are (tenant, caller or key; requests, cost or bytes)
	// is for whoever binds the guard to say. An error prepared beforehand keeps
	// refusing cheaper than serving.
	Enter(now time.Time, key string, n int64) error
	// Exit gives back what one successful Enter with the same key and n took. It
	// is called exactly once for each of those.
	Exit(key string, n int64)
}

// ErrRefused is what the error of a built-in guard wraps that refuses for now: what
// it guards is taken, or used up.
var ErrRefused = errors.New("regulators: refused")

// ErrTooLarge is what the error of a built-in guard wraps that can never let in as
// much as was asked for at once. To try again is useless.
var ErrTooLarge = errors.New("regulators: too large to ever pass")

// errNegative keeps an Enter from giving what was never taken.
var errNegative = errors.New("regulators: n of Enter is negative")
