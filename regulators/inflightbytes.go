package regulators

import (
	"fmt"
	"sync/atomic"
	"time"
)

// Bulk may take all but a bulkReserve-th of the bound; payloads of up to a
// smallPart-th of it may have that too.
const (
	bulkReserve = 16
	smallPart   = 1024
)

type inflightBytes struct {
	most     int64 // of all
	bulk     int64 // less: most that there may be with a payload that is not small
	small    int64 // up to so many bytes are small
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
// Bulk does not keep small payloads out: the last sixteenth of most is left to
// those of at most a 1024th of it (of 64 MiB, 4 MiB to those of up to 64 KiB),
// which else would find the bound taken whenever bulk has filled it. Below 1024
// nothing is small, and nothing kept.
//
// One request of more than fifteen sixteenths of most can never pass; its error is
// [ErrTooLarge]. Both methods cost one compare-and-swap, or a few under contention.
func InflightBytes(most int64) (Guard, error) {
	if most < 1 {
		return nil, fmt.Errorf("regulators: most of InflightBytes is %d, must be at least 1", most)
	}
	g := &inflightBytes{most: most, bulk: most, small: most / smallPart}
	if g.small > 0 {
		g.bulk -= most / bulkReserve
	}
	g.full = fmt.Errorf("%w: InflightBytes: of the %d bytes that may be in flight not enough are left", ErrRefused, most)
	g.tooLarge = fmt.Errorf("%w: InflightBytes: one payload may have %d bytes", ErrTooLarge, g.bulk)
	return g, nil
}

func (g *inflightBytes) Enter(_ time.Time, _ string, n int64) error {
	most := g.bulk
	switch {
	case n < 0:
		return errNegative
	case n > g.bulk:
		return g.tooLarge
	case n <= g.small:
		most = g.most
	}
	for {
		inflight := g.inflight.Load()
		if n > most-inflight { // not inflight+n, which could overflow
			return g.full
		}
		if g.inflight.CompareAndSwap(inflight, inflight+n) {
			return nil
		}
	}
}

func (g *inflightBytes) Exit(_ string, n int64) { g.inflight.Add(-n) }
