package regulators

import (
	"fmt"
	"sync/atomic"
	"time"
)

type inflightBytes struct {
	most     int64
	inflight atomic.Int64
	full     error // prepared: refusing must cost less than serving
	tooLarge error
}

// InflightBytes returns a Guard that lets at most so many bytes be in flight, of
// all keys together: requests' payloads, say, that the process has to hold until
// they are done. The bound is hard. n counts bytes; a request of none passes and
// takes nothing. most must be at least 1 and has no default: what memory the
// service can spare, over how many times it copies a payload.
//
// One request of more than most can never pass; its error is [ErrTooLarge]. Both
// methods cost one compare-and-swap, or a few under contention.
func InflightBytes(most int64) (Guard, error) {
	if most < 1 {
		return nil, fmt.Errorf("regulators: most of InflightBytes is %d, must be at least 1", most)
	}
	return &inflightBytes{
		most:     most,
		full:     fmt.Errorf("%w: InflightBytes: of the %d bytes that may be in flight not enough are left", ErrRefused, most),
		tooLarge: fmt.Errorf("%w: InflightBytes: %d bytes may be in flight", ErrTooLarge, most),
	}, nil
}

func (g *inflightBytes) Enter(_ time.Time, _ string, n int64) error {
	switch {
	case n < 0:
		return errNegative
	case n > g.most:
		return g.tooLarge
	}
	for {
		inflight := g.inflight.Load()
		if n > g.most-inflight { // not inflight+n, which could overflow
			return g.full
		}
		if g.inflight.CompareAndSwap(inflight, inflight+n) {
			return nil
		}
	}
}

func (g *inflightBytes) Exit(_ string, n int64) { g.inflight.Add(-n) }
