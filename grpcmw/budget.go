package grpcmw

import "sync/atomic"

// budget is how many shed calls may still be told to come again. What comes
// again comes on top of a load that is too much already, so it is bounded by a
// share of what is served, as gRFC A6 has clients throttle their retries by the
// share of what succeeds: in light shedding everybody may, in heavy shedding
// nearly nobody, and a client that obeys makes no more than 1.1 tries for a call.
// It counts in tenths of a retry. Its zero value is full.
type budget struct{ spent atomic.Int64 }

const (
	retryCost = 10 // admitted calls for each retry

	// retriesMost is the retries that calm times save up, for a short burst.
	retriesMost = 100
)

// earn counts an admitted call. While nothing is spent, as in all calm times, it
// only reads. Many at once may earn a little more than there was to earn.
func (b *budget) earn() {
	if b.spent.Load() > 0 {
		b.spent.Add(-1)
	}
}

// spend tells whether one more may be told to come again.
func (b *budget) spend() bool {
	if b.spent.Load() > (retriesMost-1)*retryCost {
		return false
	}
	b.spent.Add(retryCost)
	return true
}
